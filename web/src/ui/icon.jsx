// SPDX-License-Identifier: Apache-2.0
//
// Line icons on a grid of 20, in the colour of the text.
const PATHS = {
	brand: "M3 7h14m-4-4 4 4-4 4M17 13H3m4-4-4 4 4 4",
	overview: "M4 4h5v7H4zM11 4h5v4h-5zM11 10h5v6h-5zM4 13h5v3H4z",
	datagrams: "M3 6h9v7H3zM3 6l4.5 4L12 6M14.5 8H17M14.5 11H17M13.5 14H16",
	connections: "M4 10h12M4 7v6M16 7v6M8 10v0M12 10v0",
	listeners:
		"M10 10v7M7 17h6M10 8.5v0M6.8 11.7a4.5 4.5 0 0 1 0-6.4M13.2 5.3a4.5 4.5 0 0 1 0 6.4M4.3 14a8 8 0 0 1 0-11M15.7 3a8 8 0 0 1 0 11",
	devices: "M4 5h12v10H4zM7 15v2M13 15v2M7 8h6M7 11h3",
	buffers: "M4 4h12v4H4zM4 8h12v4H4zM4 12h12v4H4z",
	transfers: "M4 7h11l-3-3M16 13H5l3 3",
	benchmarks: "M3.5 15a7 7 0 1 1 13 0M10 12.5l3.5-4M10 12.5v.1",
	events: "M4 5h12M4 10h12M4 15h7",
	sun: "M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.3 4.3l1.1 1.1M14.6 14.6l1.1 1.1M4.3 15.7l1.1-1.1M14.6 5.4l1.1-1.1",
	moon: "M15.5 12.5A6.5 6.5 0 0 1 7.5 4.5a6.5 6.5 0 1 0 8 8z",
	lock: "M5 9h10v7H5zM7 9V6.5a3 3 0 0 1 6 0V9",
	search: "M9 4a5 5 0 1 0 0 10A5 5 0 0 0 9 4zM13 13l3.5 3.5",
	back: "M12 4l-6 6 6 6",
	up: "M10 15V5M6 9l4-4 4 4",
	down: "M10 5v10M6 11l4 4 4-4",
	close: "M5 5l10 10M15 5L5 15",
	plus: "M10 4v12M4 10h12",
	copy: "M7 7h9v9H7zM4 13V4h9",
	check: "M4 10.5l4 4 8-9",
	note: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 9v4.5M10 6.5v.1",
	warning: "M10 3l8 14H2zM10 8v4M10 14.5v.1",
};

export function Icon({ name, size = 20 }) {
	return (
		<svg class="icon" width={size} height={size} viewBox="0 0 20 20" aria-hidden="true">
			<path d={PATHS[name]} />
		</svg>
	);
}
