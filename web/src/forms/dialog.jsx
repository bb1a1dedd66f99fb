// SPDX-License-Identifier: Apache-2.0
//
// A modal dialog: the browser keeps the focus in it, and Escape closes it.
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../ui/icon.jsx";

export function Dialog({ title, onClose, children }) {
	const dialog = useRef(null);
	useEffect(() => {
		const opener = document.activeElement;
		dialog.current.showModal();
		dialog.current.querySelector(".dialog-body :is(input, select), [type=submit]")?.focus();
		return () => opener?.focus?.();
	}, []);
	return (
		<dialog
			ref={dialog}
			class="dialog"
			aria-label={title}
			onClose={onClose}
			onClick={(event) => event.target === dialog.current && onClose()}
		>
			<div class="dialog-inside">
				<header class="dialog-head">
					<h2>{title}</h2>
					<button type="button" class="icon-button" aria-label="Close the dialog" onClick={onClose}>
						<Icon name="close" size={16} />
					</button>
				</header>
				{children}
			</div>
		</dialog>
	);
}
