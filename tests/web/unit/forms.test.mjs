// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import {
	collect,
	fieldAt,
	initialValues,
	parseBytes,
	refusedFields,
	remoteFrom,
	visibleFields,
} from "../../../web/src/forms/fields.js";
import { actions, afterwards, formRequest, forms } from "../../../web/src/forms/specs.js";

test("bytes are read with and without a unit", () => {
	const read = {
		4096: 4096,
		"4096 B": 4096,
		"64k": 65536,
		"64 KiB": 65536,
		"1.5 MiB": 1572864,
		"1 gib": 2 ** 30,
		"1T": 2 ** 40,
	};

	for (const [text, value] of Object.entries(read)) assert.equal(parseBytes(text), value, text);
});

test("a text that is no number of bytes gives none", () => {
	for (const text of ["", "KiB", "-1", "1,5 MiB", "1.3", "1e3", "0x10", "1 XiB", "9999999 TiB", "1 MiB 2"]) {
		assert.equal(parseBytes(text), null, text);
	}
});

test("the defaults of the daemon are left out of the body", () => {
	const values = { ...initialValues(forms.connect.fields), dst_addr: "10.0.0.2", dst_port: "7471" };

	assert.deepEqual(formRequest(forms.connect, values), {
		request: { method: "POST", path: "/v1/connections", body: { dst_addr: "10.0.0.2", dst_port: 7471 } },
		errors: {},
	});
	assert.deepEqual(collect(forms.connect.fields, { ...values, sq_depth: "15", rnr_retry: " 7 " }).body, {
		dst_addr: "10.0.0.2",
		dst_port: 7471,
	});
});

test("nested members are placed by their pointer", () => {
	const fields = forms.transfer.fields;
	const typed = {
		op: "write",
		connection: "7",
		buffer: "source",
		remote_addr: "0x7f00",
		rkey: "0x1a",
		length_bytes: "4 KiB",
	};

	assert.deepEqual(collect(fields, { ...initialValues(fields), ...typed }), {
		body: {
			op: "write",
			connection: 7,
			buffer: "source",
			remote: { addr: "0x7f00", rkey: "0x1a" },
			length_bytes: 4096,
		},
		errors: {},
	});
});

test("a choice of numbers is a number", () => {
	const values = { ...initialValues(forms.connect.fields), dst_addr: "a", dst_port: "1", path_mtu_bytes: "1024" };

	assert.deepEqual(collect(forms.connect.fields, values).body.qp, { path_mtu_bytes: 1024 });
});

test("an error belongs to its field, and the other values are in the body", () => {
	const values = {
		...initialValues(forms.connect.fields),
		dst_addr: " ",
		dst_port: "70000",
		timeout_ms: "soon",
		name: "x",
	};
	const { body, errors } = collect(forms.connect.fields, values);

	assert.deepEqual(body, { name: "x" });
	assert.deepEqual(errors, {
		dst_addr: "is required",
		dst_port: "a whole number, 1 to 65535",
		timeout_ms: "a whole number, 1 to 600000",
	});
});

test("numbers that JavaScript can't hold are refused rather than rounded", () => {
	const fields = [{ name: "n", kind: "integer", min: 1 }];

	assert.ok(collect(fields, { n: "9007199254740993" }).errors.n);
	assert.deepEqual(collect(fields, { n: "9007199254740991" }).body, { n: 9007199254740991 });
});

test("hexadecimal numbers have the form of the contract", () => {
	const fields = [{ name: "addr", kind: "hex" }];

	for (const bad of ["7f00", "0x", "0xAB", "0x12345678901234567", "0x1 "]) {
		assert.equal("addr" in collect(fields, { addr: bad }).errors, bad !== "0x1 ", bad);
	}
});

test("fields that do not apply are neither shown nor sent", () => {
	const fields = forms.transfer.fields;
	const values = { ...initialValues(fields), op: "send", connection: "1", buffer: "2", rkey: "nonsense", imm: "5" };
	const shown = visibleFields(fields, values).map(({ name }) => name);

	assert.ok(!shown.includes("rkey") && !shown.includes("imm") && shown.includes("message_bytes"));
	assert.deepEqual(collect(fields, values), { body: { op: "send", connection: 1, buffer: 2 }, errors: {} });
});

test("a benchmark of sends needs no memory of the peer, and its messages may be empty", () => {
	const fields = forms.benchmark.fields;
	const values = { ...initialValues(fields), connection: "1", size_bytes: "0", tx_depth: "1", rkey: "nonsense" };

	assert.deepEqual(collect(fields, { ...values, op: "send" }), {
		body: { op: "send", connection: 1, size_bytes: 0, tx_depth: 1 },
		errors: {},
	});
	assert.deepEqual(Object.keys(collect(fields, values).errors), ["remote_addr", "rkey"]);
});

test("the defaults of a probe are left out of its body", () => {
	const fields = forms.probe.fields;
	const values = { ...initialValues(fields), connection: "1", size_bytes: "64" };

	assert.deepEqual(collect(fields, values).body, { connection: 1 });
	assert.deepEqual(collect(fields, { ...values, kind: "echo", interval_ms: "0", count: "5" }).body, {
		connection: 1,
		kind: "echo",
		interval_ms: 0,
		count: 5,
		size_bytes: 64,
	});
});

test("required flags must be given", () => {
	const values = { ...initialValues(forms.window.fields), buffer: "b" };

	assert.equal(collect(forms.window.fields, values).errors.access, "at least one");
	assert.deepEqual(collect(forms.window.fields, { ...values, access: ["remote_read"] }).body, {
		buffer: "b",
		type: 1,
		access: ["remote_read"],
	});
});

test("a refusal is shown at the field that its pointer names", () => {
	assert.equal(fieldAt(forms.connect.fields, "/dst_addr"), "dst_addr");
	assert.equal(fieldAt(forms.connect.fields, "/qp/sq_depth"), "sq_depth");
	assert.equal(fieldAt(forms.transfer.fields, "/remote/rkey"), "rkey");
	assert.equal(fieldAt(forms.buffer.fields, "/access/1"), "access");
	assert.equal(fieldAt(forms.connect.fields, "/elsewhere"), null);
	assert.equal(fieldAt(forms.connect.fields, undefined), null);
});

test("each fault of a refusal is shown at its field", () => {
	const errors = [
		{ pointer: "/dst_addr", code: "bad_value", detail: "no address" },
		{ pointer: "/qp/sq_depth", code: "out_of_range", detail: "too deep" },
		{ pointer: "/elsewhere", code: "unknown_field", detail: "unknown" },
	];

	assert.deepEqual(refusedFields(forms.connect.fields, { errors }), {
		dst_addr: "no address",
		sq_depth: "too deep",
	});
	assert.deepEqual(
		refusedFields(forms.connect.fields, { code: "name_taken", errors: [{ pointer: "/name", detail: "taken" }] }),
		{
			name: "taken",
		},
	);
});

test("actions name the object and go by its id", () => {
	const { title, request } = actions.closeConnection({ id: 7, name: "from-a" });

	assert.equal(title, "Close connection from-a (7)");
	assert.deepEqual(request, { method: "POST", path: "/v1/connections/7/close" });
	assert.deepEqual(actions.deleteBuffer({ id: 3, name: null }).request, { method: "DELETE", path: "/v1/buffers/3" });
});

test("the copied text of a buffer fills in address and key", () => {
	assert.deepEqual(remoteFrom('{"addr": "0x7f00", "rkey": "0x1a"}'), { remote_addr: "0x7f00", rkey: "0x1a" });
	for (const other of ["0x7f00", "{", '{"addr": 1, "rkey": "0x1"}', "[]", "null", "{}"])
		assert.equal(remoteFrom(other), null, other);
});

test("a form leads to the object that it has made", () => {
	assert.equal(afterwards(forms.connect, { id: 7 }), "#/connections/7");
	assert.equal(afterwards(forms.transfer, { id: 3 }), "#/transfers?id=3");
	assert.equal(afterwards(forms.benchmark, { id: 3, connection: { id: 7, name: null } }), "#/benchmarks?id=3");
	assert.equal(afterwards(forms.window, { id: 3 }), "#/buffers?window=3", "beside the buffers");
	assert.equal(afterwards(forms.peer, { id: 3 }), "#/datagrams?peer=3");
	assert.equal(
		afterwards(forms.probe, { id: 3, connection: { id: 7, name: null } }),
		"#/connections/7",
		"where round trips are drawn",
	);
});

test("a peer is named by where it listens, or by its queue pair", () => {
	const shown = (values) =>
		visibleFields(forms.peer.fields, { ...initialValues(forms.peer.fields), ...values }).map(({ name }) => name);

	assert.deepEqual(shown({}), ["ud_endpoint", "dst_addr", "qpn", "name", "timeout_ms"]);
	assert.deepEqual(shown({ dst_addr: "b" }), ["ud_endpoint", "dst_addr", "dst_port", "name", "timeout_ms"]);
	assert.deepEqual(shown({ qpn: "17" }), ["ud_endpoint", "qpn", "gid", "qkey", "name", "timeout_ms"]);
});
