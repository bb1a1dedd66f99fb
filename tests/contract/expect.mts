// SPDX-License-Identifier: Apache-2.0
//
// The little that each client of these tests needs besides its library.

export function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not so: ${what}`);
  console.log(`ok ${what}`);
}

/** The body of a success; the text of a problem becomes an exception. */
export function dataOf<Body>(answer: { data?: Body; error?: unknown; response: Response }): NonNullable<Body> {
  if (answer.data === undefined)
    throw new Error(`${answer.response.status} of ${answer.response.url}: ${JSON.stringify(answer.error)}`);
  return given(answer.data);
}

/** A member that `fields` may have left out, or that may be null, and that is there. */
export function given<Value>(value: Value): NonNullable<Value> {
  if (value === undefined || value === null) throw new Error('a member is missing');
  return value;
}

/** The JSON in the first event of a text/event-stream. */
export function firstEvent(stream: string): string {
  return given(/^data: (.*)$/m.exec(stream)?.[1]);
}
