/* SPDX-License-Identifier: Apache-2.0 */
/* In a build without the dashboard, this replaces the output of web/build.mjs. */
#include "api/resources/web.h"

const struct vbd_web_file vbd_web_files[] = {{0}};
