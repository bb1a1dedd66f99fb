/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all routes. Any thread. */
#ifndef VBD_API_ROUTES_H
#define VBD_API_ROUTES_H

#include "api/http/router.h"

/** vbd_routes - the table of all routes; static */
struct vbd_router vbd_routes(void);

#endif
