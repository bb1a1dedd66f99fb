// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { collections } from "../../../web/src/collections.js";

test("the list of connections asks for the run, by which it marks those of earlier runs", () => {
	assert.ok(collections.connections.fields.split(",").includes("server_id"));
});
