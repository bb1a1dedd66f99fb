// SPDX-License-Identifier: Apache-2.0
//
// The first page: the state of the daemon and of its connections, and the failures of the last hour.
import { ActionButton, FormButton } from "../forms/form.jsx";
import { useConnectionNames, useDrain, useList, useNow, useStats, useStore } from "../hooks.js";
import { failuresOf } from "../summary.js";
import { Trouble } from "../ui/bits.jsx";
import { Devices } from "./overview/devices.jsx";
import { Failures } from "./overview/failures.jsx";
import { Figures } from "./overview/figures.jsx";
import { KeptAway } from "./overview/kept.jsx";
import { Limits } from "./overview/limits.jsx";
import { Running } from "./overview/running.jsx";
import { States } from "./overview/states.jsx";
import { Traffic } from "./overview/traffic.jsx";

const NOW_MS = 5000;

function useFailures() {
	const store = useStore();
	const { items, loadedAt } = useList("warnings");
	const now = useNow(NOW_MS);
	return { failures: failuresOf(items, store.events, now), now, isKnown: loadedAt !== null };
}

export function OverviewView() {
	const { item: stats, problem } = useStats();
	const drain = useDrain();
	const devices = useList("devices");
	const nameOf = useConnectionNames();
	const { failures, now, isKnown } = useFailures();
	return (
		<div class="view overview">
			<div class="view-head">
				<h1>Overview</h1>
				<FormButton name="connect" />
				<FormButton name="listen" />
				{drain?.state === "serving" && <ActionButton name="drain" item={drain} label="Drain" />}
			</div>
			{problem && !stats && problem.status !== 0 && <Trouble problem={problem} />}
			{stats && (
				<>
					<Figures stats={stats} failures={isKnown ? failures : null} />
					<div class="columns">
						<div class="column">
							<Traffic stats={stats} />
							<Running nameOf={nameOf} />
							<KeptAway />
							{isKnown && <Failures failures={failures} now={now} nameOf={nameOf} />}
						</div>
						<div class="column">
							<States stats={stats} />
							{devices.loadedAt !== null && <Devices devices={devices.items} />}
							<Limits stats={stats} devices={devices.items} />
						</div>
					</div>
				</>
			)}
		</div>
	);
}
