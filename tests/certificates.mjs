// SPDX-License-Identifier: Apache-2.0
//
// Makes a CA and certificates with openssl(1), in a folder of the test.
import { execFileSync } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

export class Ca {
	// Makes NAME.pem and NAME.key in the folder.
	constructor(folder, name = "ca") {
		Object.assign(this, { folder, name });
		this.run("req", "-x509", ...KEY, "-keyout", this.path(`${name}.key`), "-out", this.path(`${name}.pem`),
			"-days", "3650", "-subj", `/CN=${name}`,
			"-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign");
	}

	path(name) {
		return join(this.folder, name);
	}

	read(name) {
		return readFileSync(this.path(name));
	}

	run(...args) {
		return execFileSync("openssl", args, { stdio: ["ignore", "pipe", "pipe"] });
	}

	// Makes NAME.pem and NAME.key. An existing certificate is replaced at once. Expires: a Date, instead of days.
	issue(name, { cn = name, san, usage = "clientAuth", days = 30, expires } = {}) {
		const request = this.path(`${name}.csr`);
		const extensions = this.path(`${name}.ext`);
		const out = this.path(`${name}.pem.new`);

		this.run("req", "-new", ...KEY, "-keyout", this.path(`${name}.key.new`), "-out", request, "-subj", `/CN=${cn}`);
		writeFileSync(extensions, `extendedKeyUsage=${usage}\nbasicConstraints=CA:FALSE\n${san ? `subjectAltName=${san}\n` : ""}`);
		if (expires)
			this.run(...this.ca(), "-batch", "-in", request, "-out", out, "-notext", "-extfile", extensions,
				"-enddate", expires.toISOString().replace(/[-:T]|\.\d+/g, ""));
		else
			this.run("x509", "-req", "-in", request, "-CA", this.path(`${this.name}.pem`), "-CAkey", this.path(`${this.name}.key`),
				"-days", `${days}`, "-extfile", extensions, "-out", out);
		renameSync(this.path(`${name}.key.new`), this.path(`${name}.key`));
		renameSync(out, this.path(`${name}.pem`));
	}

	// The names are those of the loopback unless others are given.
	issueServer(name = "server", san = "IP:127.0.0.1,DNS:localhost") {
		this.issue(name, { cn: "verbsd", san, usage: "serverAuth" });
	}

	// Returns the beginning of a command of openssl-ca(1), with its files.
	ca() {
		const config = this.path("ca.cnf");

		writeFileSync(config, `[ca]\ndefault_ca=x\n[x]\ndatabase=${this.path("index")}\ndefault_md=sha256\ndefault_crl_days=30\n`
			+ `new_certs_dir=${this.folder}\nrand_serial=yes\nunique_subject=no\npolicy=p\n[p]\ncommonName=supplied\n`);
		writeFileSync(this.path("index"), "", { flag: "a" });
		return ["ca", "-config", config, "-cert", this.path(`${this.name}.pem`), "-keyfile", this.path(`${this.name}.key`)];
	}

	// Makes NAME-crl.pem, where NAME is that of the CA, with the certificates revoked so far.
	revoke(...names) {
		const ca = this.ca();

		for (const name of names) this.run(...ca, "-revoke", this.path(`${name}.pem`));
		this.run(...ca, "-gencrl", "-out", this.path(`${this.name}-crl.pem`));
	}

	// Returns the options of tls.connect() for a client's certificate.
	credentials(name) {
		return { cert: this.read(`${name}.pem`), key: this.read(`${name}.key`) };
	}
}
