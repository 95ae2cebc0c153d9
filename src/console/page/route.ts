import {computed, signal} from '@preact/signals';

/** Views of one machine, in the order of the menu. */
export const VIEWS = ['processes', 'files', 'ports', 'jobs', 'metrics'] as const;
export type ViewName = (typeof VIEWS)[number];

export type PageRoute =
	| {readonly kind: 'machines'}
	/** `rest` is the path of a file, or the id of a job. */
	| {readonly kind: 'view'; readonly machine: string; readonly view: ViewName; readonly rest: string}
	| {readonly kind: 'process'; readonly machine: string; readonly process: string};

const fragment = signal(location.hash);
addEventListener('hashchange', () => {
	fragment.value = location.hash;
});

/** The address is the state of the page: a reload, a link or the back button lead to the same view. */
export const route = computed((): PageRoute => parseRoute(fragment.value));

export function parseRoute(hash: string): PageRoute {
	const [, machine, view, ...rest] = hash.replace(/^#\/?/, '/').split('/').map(decode);
	if (!machine || !view) return {kind: 'machines'};
	if (view === 'process' && rest[0]) return {kind: 'process', machine, process: rest.join('/')};
	const known = VIEWS.find(name => name === view);
	return known ? {kind: 'view', machine, view: known, rest: rest.join('/')} : {kind: 'machines'};
}

export function hrefOf(target: PageRoute): string {
	switch (target.kind) {
		case 'machines':
			return '#/';
		case 'view':
			return `#/${encodeURIComponent(target.machine)}/${target.view}${target.rest ? `/${encodeURIComponent(target.rest)}` : ''}`;
		case 'process':
			return `#/${encodeURIComponent(target.machine)}/process/${encodeURIComponent(target.process)}`;
	}
}

export function goTo(target: PageRoute): void {
	location.hash = hrefOf(target);
	fragment.value = location.hash;
}

function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return '';
	}
}
