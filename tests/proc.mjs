// SPDX-License-Identifier: Apache-2.0
//
// The open files of a process, from proc(5).
import { readdirSync, readlinkSync } from "node:fs";

/** descriptors_of - [{path, target}] of a process; without those that are closed while the folder is read */
export function descriptors_of(pid) {
	return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
		const path = `/proc/${pid}/fd/${fd}`;

		try {
			return [{ path, target: readlinkSync(path) }];
		} catch {
			return [];
		}
	});
}

/** memory_of - the path of the newest shared memory that a process has, which root may open; undefined if it has none */
export const memory_of = (pid) => descriptors_of(pid).filter(({ target }) => target.startsWith("/memfd:")).at(-1)?.path;
