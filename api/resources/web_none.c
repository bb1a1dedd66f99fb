/* SPDX-License-Identifier: Apache-2.0 */
/* Instead of what web/build.mjs makes, in a build without the dashboard. */
#include "api/resources/web.h"

const struct vbd_web_file vbd_web_files[] = {{0}};
