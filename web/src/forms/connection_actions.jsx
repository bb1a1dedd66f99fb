// SPDX-License-Identifier: Apache-2.0
//
// The buttons for a connection in its present state.
import { isOpen } from "../collections.js";
import { navigate } from "../router.js";
import { ActionButton, FormButton } from "./form.jsx";

export function ConnectionActions({ item }) {
	if (item.state === "requested") {
		return (
			<>
				<ActionButton name="acceptConnection" item={item} label="Accept" />
				<ActionButton name="rejectConnection" item={item} label="Reject" />
			</>
		);
	}
	if (!isOpen(item))
		return (
			<ActionButton
				name="deleteConnection"
				item={item}
				label="Delete"
				onDone={() => navigate({ view: "connections" })}
			/>
		);
	return (
		<>
			{item.state === "established" && (
				<>
					<FormButton name="transfer" given={{ connection: String(item.id) }} />
					<FormButton name="benchmark" given={{ connection: String(item.id) }} />
				</>
			)}
			<ActionButton name="closeConnection" item={item} label="Close" />
		</>
	);
}
