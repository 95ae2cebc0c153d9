import type {VNode} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import {login, logOut} from './login-state.js';
import {LoginView, ReplaceLoginView} from './login-view.js';
import {linkTo, type MachineLink} from './machine-link.js';
import {MachinesView} from './machines-view.js';
import {Empty, Icon, type IconName} from './page-parts.js';
import {ProcessView} from './process-view.js';
import {ProcessesView} from './processes-view.js';
import {goTo, hrefOf, type PageRoute, route, VIEWS, type ViewName} from './route.js';

const TITLES: Readonly<Record<ViewName, string>> = {
	processes: 'Processes',
	files: 'Files',
	ports: 'Ports',
	jobs: 'Jobs',
	metrics: 'Metrics',
};
const ICONS: Readonly<Record<ViewName, IconName>> = {
	processes: 'terminal',
	files: 'folder',
	ports: 'plug',
	jobs: 'list',
	metrics: 'chart',
};

/** Views that are loaded when they are opened. */
const LAZY: Readonly<Partial<Record<ViewName, () => Promise<(props: LazyProps) => VNode>>>> = {
	files: async () => (await import('./files-view.js')).FilesView,
	ports: async () => (await import('./ports-view.js')).PortsView,
	jobs: async () => (await import('./jobs-view.js')).JobsView,
	metrics: async () => (await import('./metrics-view.js')).MetricsView,
};

interface LazyProps {
	readonly link: MachineLink;
	readonly rest: string;
}

export function App(): VNode {
	const state = login.value;
	if (state.kind === 'loading') return <main class="centre" aria-busy="true" />;
	if (state.kind === 'anonymous') return <LoginView reason={state.reason} />;
	if (state.kind === 'asking') return <ReplaceLoginView secret={state.secret} />;
	const {machines, share} = state;
	if (share)
		return <SharedProcess machine={machines[0]!.key} process={share.processId} mayDrive={share.role === 'drive'} />;
	const current = route.value;
	if (current.kind === 'machines' && machines.length === 1) {
		return <Shell current={{kind: 'view', machine: machines[0]!.key, view: 'processes', rest: ''}} />;
	}
	return <Shell current={current} />;
}

/** A share link shows its process and nothing else. */
function SharedProcess({machine, process, mayDrive}: {machine: string; process: string; mayDrive: boolean}): VNode {
	const link = linkTo(machine)!;
	return (
		<div class="shell alone">
			<Banner link={link} />
			<main>
				<ProcessView key={process} link={link} processId={process} mayDrive={mayDrive} isShared />
			</main>
		</div>
	);
}

function Shell({current}: {current: PageRoute}): VNode {
	const link = current.kind === 'machines' ? undefined : linkTo(current.machine);
	useEffect(() => {
		document.title = link ? `${link.name} · longarm` : 'longarm';
	}, [link]);
	return (
		<div class="shell">
			<a class="skip" href="#main" onClick={focusMain}>
				Skip to content
			</a>
			<Menu current={current} link={link} />
			{link && <Banner link={link} />}
			<main id="main" tabIndex={0}>
				{current.kind === 'machines' ? (
					<MachinesView />
				) : link ? (
					<MachineBody link={link} current={current} />
				) : (
					<Unknown />
				)}
			</main>
		</div>
	);
}

function focusMain(event: Event): void {
	event.preventDefault();
	document.querySelector<HTMLElement>('main')?.focus();
}

function MachineBody({link, current}: {link: MachineLink; current: Exclude<PageRoute, {kind: 'machines'}>}): VNode {
	if (current.kind === 'process') {
		return <ProcessView key={current.process} link={link} processId={current.process} mayDrive />;
	}
	if (current.view === 'processes') return <ProcessesView key={link.key} link={link} />;
	return <LazyView key={`${link.key} ${current.view}`} link={link} view={current.view} rest={current.rest} />;
}

function LazyView({link, view, rest}: LazyProps & {view: ViewName}): VNode {
	const [View, setView] = useState<((props: LazyProps) => VNode) | undefined>();
	useEffect(() => {
		void LAZY[view]?.().then(loaded => setView(() => loaded));
	}, [view]);
	return View ? <View link={link} rest={rest} /> : <div class="empty" aria-busy="true" />;
}

function Menu({current, link}: {current: PageRoute; link: MachineLink | undefined}): VNode {
	const state = login.value;
	const machines = state.kind === 'ready' ? state.machines : [];
	const view = current.kind === 'view' ? current.view : current.kind === 'process' ? 'processes' : undefined;
	return (
		<header class="menu">
			<a class="brand" href={hrefOf({kind: 'machines'})} aria-label="longarm">
				<Icon name="brand" />
				<span>longarm</span>
			</a>
			{machines.length > 1 && (
				<select
					class="machine-choice"
					aria-label="Machine"
					value={link?.key ?? ''}
					onChange={event => openMachine(event.currentTarget.value, view ?? 'processes')}
				>
					<option value="">All machines</option>
					{machines.map(({key, name}) => (
						<option key={key} value={key}>
							{name}
						</option>
					))}
				</select>
			)}
			{machines.length === 1 && <span class="machine-name">{machines[0]!.name}</span>}
			<nav aria-label="Views">
				{link &&
					VIEWS.map(name => (
						<a
							key={name}
							href={hrefOf({kind: 'view', machine: link.key, view: name, rest: ''})}
							aria-current={name === view ? 'page' : undefined}
						>
							<Icon name={ICONS[name]} />
							<span>{TITLES[name]}</span>
						</a>
					))}
			</nav>
			<button type="button" class="quiet log-out" onClick={() => void logOut()}>
				Log out
			</button>
		</header>
	);
}

function openMachine(key: string, view: ViewName): void {
	goTo(key === '' ? {kind: 'machines'} : {kind: 'view', machine: key, view, rest: ''});
}

function Banner({link}: {link: MachineLink}): VNode {
	const state = link.state.value;
	return (
		<div class="banner" role="status" hidden={state.kind !== 'disconnected'}>
			{state.kind === 'disconnected' && `Not connected to ${link.name}. Trying again…`}
		</div>
	);
}

function Unknown(): VNode {
	return <Empty title="There is no such machine">Choose one from the menu.</Empty>;
}
