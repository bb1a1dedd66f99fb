// SPDX-License-Identifier: Apache-2.0
// After every case: the daemons are alive, its objects are deleted, and then none is left.
import { describeAnswer } from './client.mjs';
import { send } from './http.mjs';
import { show } from './match.mjs';

// verbsd's own protection domains and completion queues, which no client can delete.
const isOwn = ({ kind, code }) => ['pd', 'cq'].includes(kind) && code === 'wrong_state';

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

  /** After a case: deletes what it made, and returns errors of the daemons that it used. */
  async end() {
    const asked = [...this.client.asked].filter((on) => on in this.daemons);
    const failures = await this.checkAlive(asked);
    const held = asked.filter((name) => this.held[name] !== null);
    for (const look of [this.deleteAll, this.settle])
      for (const on of held) failures.push(...(await look.call(this, on).catch((error) => [error.message])));
    return failures;
  }

  // Deletes all objects of a daemon, each before those that it uses.
  async deleteAll(on) {
    const request = this.client.buildRequest({ on, method: 'DELETE', path: '/v1/objects?all=true', wait: true }, {});
    const { response, failures } = await this.client.fetch(request);
    if (response.status !== 200) return [...failures, `objects of ${on} are not deleted: ${describeAnswer(response)}`];
    const undeleted = response.json.failures.filter((failure) => !isOwn(failure));
    return [...failures, ...undeleted.map((failure) => `not deleted on ${on}: ${show(failure)}`)];
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
