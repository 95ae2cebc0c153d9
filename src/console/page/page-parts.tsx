import type {ComponentChildren, VNode} from 'preact';

const ICONS = {
	brand: 'M4 7l5 5-5 5M12 17h8',
	terminal: 'M4 5h16v14H4zM7.5 9.5L10 12l-2.5 2.5M12 15h4',
	folder: 'M3.5 6.5h6l2 2.5h9v9.5h-17z',
	plug: 'M9 3v5M15 3v5M6.5 8h11v3a5.5 5.5 0 0 1-11 0zM12 16.5V21',
	list: 'M4 6h2M9 6h11M4 12h2M9 12h11M4 18h2M9 18h11',
	chart: 'M4 4v16h16M8 15l3.5-4 3 2.5L19 8',
	file: 'M6 3h8l4 4v14H6zM14 3v4h4',
} as const;

export type IconName = keyof typeof ICONS;

export function Icon({name}: {name: IconName}): VNode {
	return (
		<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
			<path d={ICONS[name]} />
		</svg>
	);
}

export type Tone = 'good' | 'bad' | 'busy' | 'warn' | 'plain';

export function Badge({tone, children}: {tone: Tone; children: ComponentChildren}): VNode {
	return <span class={`badge ${tone}`}>{children}</span>;
}

/** Text for screen readers only. */
export function Spoken({children}: {children: ComponentChildren}): VNode {
	return <span class="spoken">{children}</span>;
}

/** A view without content. */
export function Empty({title, children}: {title: string; children?: ComponentChildren}): VNode {
	return (
		<div class="empty">
			<h2>{title}</h2>
			<p>{children}</p>
		</div>
	);
}
