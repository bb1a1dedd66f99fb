// SPDX-License-Identifier: Apache-2.0
// Checks after every case: the daemons are alive, and all objects of the case are gone.
import { send } from './http.mjs';

const GAUGES = ['connections', 'listeners', 'buffers', 'windows', 'ud_endpoints', 'ud_peers', 'multicast_memberships', 'transfers'];

export class Aftermath {
  constructor(client) {
    this.client = client;
    this.daemons = client.daemons;
  }

  /** The daemons that refuse TCP connections. */
  async deadDaemons() {
    const dead = [];
    for (const [on, url] of Object.entries(this.daemons))
      await send(url, { method: 'GET', path: '/livez' }).catch(() => dead.push(on));
    return dead;
  }

  /** Before a case: records the objects of each daemon. After another case they are known. */
  async begin() {
    this.held ??= await this.gauges();
    this.client.asked.clear();
  }

  /** After a case: returns errors of the daemons that it used. */
  async end() {
    const asked = [...this.client.asked].filter((on) => on in this.daemons);
    const failures = await this.checkAlive(asked);
    for (const on of asked.filter((name) => this.held[name] !== null))
      failures.push(...(await this.settle(on).catch((error) => [error.message])));
    return failures;
  }

  // The daemons that do not report being alive.
  async checkAlive(names) {
    const failures = [];
    for (const on of names) {
      try {
        const response = await send(this.daemons[on], { method: 'GET', path: '/livez' });
        if (response.status !== 200)
          failures.push(`afterwards /livez of ${on} answers ${response.status}`);
      } catch (error) {
        failures.push(`afterwards /livez of ${on} does not answer: ${error.message}`);
      }
    }
    return failures;
  }

  async gaugesOf(on) {
    const request = {
      on,
      method: 'GET',
      path: '/v1/stats',
      headers: this.client.authorization(on),
    };
    const { response } = await this.client.fetch(request);
    return Object.fromEntries(GAUGES.map((name) => [name, response.json?.[name]]));
  }

  /** Returns the number of objects of each daemon. */
  async gauges() {
    const found = {};
    for (const on of Object.keys(this.daemons)) {
      try {
        found[on] = await this.gaugesOf(on);
      } catch {
        found[on] = null; // the case's own requests will show the error
      }
    }
    return found;
  }

  // Waits until the numbers are those of before, or lower.
  async settle(on) {
    const before = this.held[on];
    return this.client.until({ on }, async () => {
      const after = await this.gaugesOf(on);
      this.held[on] = after;
      return GAUGES.filter((name) => after[name] !== before[name]).map(
        (name) => `left behind on ${on}: ${name} was ${before[name]}, is ${after[name]}`,
      );
    });
  }
}
