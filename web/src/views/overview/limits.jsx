// SPDX-License-Identifier: Apache-2.0
//
// The limits that are nearest to their end.
import { NEAR, limitRows } from "../../summary.js";
import { Meter, Panel } from "../../ui/bits.jsx";

const MOST = 5;

export function Limits({ stats, devices }) {
	const rows = limitRows(stats, devices);
	const near = rows.filter(({ share }) => share >= NEAR).length;
	return (
		<Panel
			title="Limits"
			aside={
				near > 0 ? (
					<span class="warn-text">{near} near the end</span>
				) : (
					<span class="faint">none near its end</span>
				)
			}
		>
			<ul class="lines">
				{rows.slice(0, Math.max(MOST, near)).map(({ name, label, used, limit, share, format }) => (
					<li key={name} class="line limit-line" data-limit={name}>
						<span>{label}</span>
						<span class="num faint">
							{format(used)} of {format(limit)}
						</span>
						<Meter share={share} label={`${label}: ${format(used)} of ${format(limit)}`} />
					</li>
				))}
			</ul>
		</Panel>
	);
}
