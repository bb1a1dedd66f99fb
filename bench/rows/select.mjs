// SPDX-License-Identifier: Apache-2.0

// The rows of a topic that are to be measured: those that `only` names, or all but those of large topics.
export function wantedRows(topic, { only, large }) {
  if (only.length > 0) return topic.rows.filter(({ id }) => only.includes(id));
  return topic.large && !large ? [] : topic.rows;
}
