import {useSignal} from '@preact/signals';
import type {VNode} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import type {ListedProcess} from '../../client/process/shared-process.js';
import {FindBar} from './find-bar.js';
import {KeyBar} from './key-bar.js';
import type {MachineLink} from './machine-link.js';
import {Badge} from './page-parts.js';
import {processListOf} from './process-list.js';
import {ProcessTools} from './process-tools.js';
import type {ProcessViewer} from './process-viewer.js';
import {ProcessBadge} from './processes-view.js';
import {hrefOf} from './route.js';
import {toCommandLine, toErrorText, toShown, toSizeText} from './shown-text.js';
import type {TerminalPane} from './terminal-pane.js';
import {Timeline} from './timeline.js';

export interface ProcessViewProps {
	readonly link: MachineLink;
	readonly processId: string;
	readonly mayDrive: boolean;
	/** Opened by a share link: there is nothing else to go to. */
	readonly isShared?: boolean;
}

/** One process: its terminal or log, who drives it, and what can be done with it. */
export function ProcessView({link, processId, mayDrive, isShared}: ProcessViewProps): VNode {
	const list = processListOf(link);
	useEffect(() => list.watch(), [list]);
	const state = list.state.value;
	const process = state.kind === 'listed' ? findProcess(state.processes, processId) : undefined;
	if (!process) {
		const isGone = state.kind === 'listed';
		return (
			<div class="empty" aria-busy={!isGone}>
				{isGone && <h2>There is no such process any more</h2>}
				{state.kind === 'failed' && <p class="problem">{state.reason}</p>}
			</div>
		);
	}
	return <LoadedProcess link={link} process={process} mayDrive={mayDrive} isShared={isShared === true} />;
}

function findProcess(processes: readonly ListedProcess[], idOrName: string): ListedProcess | undefined {
	return processes.find(each => each.processId === idOrName) ?? processes.find(({name}) => name === idOrName);
}

interface LoadedProps {
	readonly link: MachineLink;
	readonly process: ListedProcess;
	readonly mayDrive: boolean;
	readonly isShared: boolean;
}

interface Shown {
	readonly viewer: ProcessViewer;
	readonly pane: TerminalPane;
}

function LoadedProcess({link, process, mayDrive, isShared}: LoadedProps): VNode {
	const host = useRef<HTMLDivElement>(null);
	const [shown, setShown] = useState<Shown | undefined>();
	const [isFinding, setFinding] = useState(false);
	const [problem, setProblem] = useState<string | undefined>();
	const title = useSignal('');
	const {processId, tty} = process;
	useEffect(() => {
		const opening = openViewer(host.current!, link, processId, tty, text => {
			title.value = text;
		});
		void opening.then(setShown);
		return () => void opening.then(closeViewer);
	}, [link, processId, tty]);
	const attempt = (work: Promise<unknown>): void => {
		setProblem(undefined);
		work.catch((error: unknown) => setProblem(toErrorText(error)));
	};
	const viewer = shown?.viewer;
	const isDriving = viewer?.role.value === 'drive';
	return (
		<section class="process" aria-label={`Process ${toShown(process.name ?? processId)}`}>
			<div class="view-head">
				{!isShared && (
					<a
						class="back"
						href={hrefOf({kind: 'view', machine: link.key, view: 'processes', rest: ''})}
						aria-label="All processes"
					>
						‹
					</a>
				)}
				<div class="what">
					<h1>{toShown(process.name ?? processId)}</h1>
					<code title={toCommandLine(process.argv)}>{toShown(title.value) || toCommandLine(process.argv)}</code>
				</div>
				<ProcessBadge process={process} />
				<span class="grow" />
				{shown && (
					<ProcessTools
						link={link}
						process={process}
						viewer={shown.viewer}
						pane={shown.pane}
						mayDrive={mayDrive}
						isShared={isShared}
						attempt={attempt}
						find={() => setFinding(!isFinding)}
					/>
				)}
			</div>
			{problem !== undefined && (
				<p class="problem" role="alert">
					{problem}
				</p>
			)}
			{shown && <Notices viewer={shown.viewer} pane={shown.pane} process={process} />}
			{isFinding && shown && <FindBar pane={shown.pane} close={() => setFinding(false)} />}
			<div class={`stage${isDriving ? ' driving' : ''}`}>
				<div class="live" ref={host} role="group" aria-label={tty ? 'Terminal' : 'Log'} />
				{tty && process.spilledBytes != null && <Timeline link={link} process={process} />}
			</div>
			{isDriving && shown && <KeyBar viewer={shown.viewer} pane={shown.pane} />}
		</section>
	);
}

/** Terminal code is loaded with the first process that is opened. */
async function openViewer(
	element: HTMLElement,
	link: MachineLink,
	processId: string,
	isTerminal: boolean,
	titled: (title: string) => void,
): Promise<Shown> {
	const [{TerminalPane}, {ProcessViewer}] = await Promise.all([
		import('./terminal-pane.js'),
		import('./process-viewer.js'),
	]);
	const pane = new TerminalPane(element, {
		typed: data => viewer.type(data),
		titled,
		takesKeys: () => viewer.role.value === 'drive',
		left: () => document.querySelector<HTMLElement>('.process .tools button')?.focus(),
		isLog: !isTerminal,
	});
	const viewer = new ProcessViewer(link, processId, pane);
	void viewer.run();
	return {viewer, pane};
}

function closeViewer({viewer, pane}: Shown): void {
	viewer.dispose();
	pane[Symbol.dispose]();
}

interface NoticesProps extends Shown {
	readonly process: ListedProcess;
}

function Notices({viewer, pane, process}: NoticesProps): VNode {
	const [isSpoken, setSpoken] = useState(false);
	const speak = (): void => {
		pane.isSpoken = !isSpoken;
		setSpoken(!isSpoken);
	};
	const status = viewer.status.value;
	const driver = viewer.driver.value;
	const isDriving = viewer.role.value === 'drive';
	const viewers = (process.attached ?? []).filter(({role, isSelf}) => role === 'observe' && !isSelf);
	const hasEnded = status.kind === 'ended';
	return (
		<div class="notices">
			<div class="notices-text" role="status" aria-live="polite">
				{isDriving && <Badge tone="busy">you drive</Badge>}
				{!isDriving && <Badge tone="plain">{hasEnded ? 'ended' : 'watching'}</Badge>}
				{!isDriving && !hasEnded && <span>{driver ? `${toShown(driver)} drives` : 'nobody drives'}</span>}
				{viewers.length > 0 && (
					<span class="dim" title={viewers.map(({client}) => toShown(client)).join('\n')}>
						{viewers.length} more watching
					</span>
				)}
				{status.kind === 'connecting' && <span class="dim">connecting…</span>}
				{status.kind === 'jumping' && <Badge tone="warn">fast output: showing the present screen</Badge>}
				{status.kind === 'failed' && <Badge tone="bad">{status.reason}</Badge>}
				{viewer.missedBytes.value > 0 && (
					<Badge tone="warn">{toSizeText(viewer.missedBytes.value)} no longer kept</Badge>
				)}
				{process.tty && (
					<span class="dim">
						{process.cols}×{process.rows}
					</span>
				)}
			</div>
			<button type="button" class="quiet" aria-pressed={isSpoken} onClick={speak}>
				Screen reader
			</button>
		</div>
	);
}
