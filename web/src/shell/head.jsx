// SPDX-License-Identifier: Apache-2.0
//
// The line at the top: the daemon, the state of the connection to it, and the role of this page.
import { getToken, setToken } from "../api.js";
import { span } from "../format.js";
import { useNow, usePage, useStore, useTheme } from "../hooks.js";
import { toggleTheme } from "../theme.js";
import { Icon } from "../ui/icon.jsx";

const LINKS = {
	connecting: "Connecting",
	live: "Live",
	stale: "Stale",
	unauthorized: "Locked",
};

function LinkState() {
	const { link } = useStore();
	return (
		<span class="link-state" data-state={link.state} role="status">
			<i class="dot" aria-hidden="true" />
			{LINKS[link.state]}
		</span>
	);
}

function Uptime({ index }) {
	const now = useNow(1000);
	return <span title={`since ${index.started_at}`}>up {span(now - Date.parse(index.started_at))}</span>;
}

function ThemeButton() {
	const other = useTheme() === "dark" ? "light" : "dark";
	return (
		<button
			class="icon-button"
			type="button"
			onClick={toggleTheme}
			title={`Change to ${other}`}
			aria-label={`Change to ${other}`}
		>
			<Icon name={other === "light" ? "sun" : "moon"} />
		</button>
	);
}

function ForgetButton() {
	const { link } = usePage();
	if (!getToken()) return null;
	const forget = () => {
		setToken("");
		link.restart();
	};
	return (
		<button
			class="icon-button"
			type="button"
			onClick={forget}
			title="Forget the token"
			aria-label="Forget the token"
		>
			<Icon name="lock" />
		</button>
	);
}

export function Head() {
	const store = useStore();
	const index = store.link.state === "unauthorized" ? null : store.index;
	return (
		<header class="head">
			<a class="brand" href="#/overview" aria-label="verbsd, overview">
				<Icon name="brand" />
				<span>verbsd</span>
			</a>
			<div class="head-facts">
				{index && (
					<>
						<span class="mono host">{location.host}</span>
						<span class="wide-only">{index.version}</span>
						<Uptime index={index} />
						<span class={`tag tag-${index.role}`} title="The role of this page">
							{index.role === "read" ? "read only" : index.role}
						</span>
					</>
				)}
			</div>
			<LinkState />
			<ForgetButton />
			<ThemeButton />
		</header>
	);
}
