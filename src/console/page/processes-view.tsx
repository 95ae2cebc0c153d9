import type {VNode} from 'preact';
import {memo} from 'preact/compat';
import {useEffect, useMemo, useState} from 'preact/hooks';
import {describeProcessWait, isWaitingForInput} from '../../client/process/process-wait-words.js';
import type {ListedProcess} from '../../client/process/shared-process.js';
import type {MachineLink} from './machine-link.js';
import {Badge, Empty} from './page-parts.js';
import {processListOf} from './process-list.js';
import {hrefOf} from './route.js';
import {toAgeText, toCommandLine, toShown, toSizeText} from './shown-text.js';

/** The processes of a machine, as they are now. */
export function ProcessesView({link}: {link: MachineLink}): VNode {
	const list = processListOf(link);
	useEffect(() => list.watch(), [list]);
	const [filter, setFilter] = useState('');
	const [showsEnded, setShowsEnded] = useState(true);
	const state = list.state.value;
	const all = state.kind === 'listed' ? state.processes : [];
	const shown = useMemo(() => select(all, filter, showsEnded), [all, filter, showsEnded]);
	const waiting = all.filter(isWaitingForInput).length;
	return (
		<>
			<div class="view-head">
				<h1>Processes</h1>
				{waiting > 0 && <Badge tone="warn">{waiting} waiting for input</Badge>}
				<span class="grow" />
				<label class="check">
					<input type="checkbox" checked={showsEnded} onChange={event => setShowsEnded(event.currentTarget.checked)} />
					Ended
				</label>
				<input
					type="search"
					class="filter"
					placeholder="Filter by name, command, label"
					aria-label="Filter processes"
					value={filter}
					onInput={event => setFilter(event.currentTarget.value)}
				/>
			</div>
			{state.kind === 'failed' && (
				<p class="problem" role="alert">
					{state.reason}
				</p>
			)}
			{state.kind === 'listed' && shown.length === 0 && <NoProcesses isFiltered={all.length > 0} />}
			{shown.length > 0 && (
				<div class="table" role="table" aria-label="Processes" aria-rowcount={shown.length + 1}>
					<div class="row head" role="row">
						<span role="columnheader">Process</span>
						<span role="columnheader">State</span>
						<span role="columnheader">Driver</span>
						<span role="columnheader">Age</span>
						<span role="columnheader">Output</span>
					</div>
					{shown.map(process => (
						<ProcessRow key={process.processId} machine={link.key} process={process} />
					))}
				</div>
			)}
		</>
	);
}

function NoProcesses({isFiltered}: {isFiltered: boolean}): VNode {
	if (isFiltered) return <Empty title="No process matches">Change the filter to see others.</Empty>;
	return (
		<Empty title="No processes yet">
			Start one with <code>longarm run -d -- COMMAND</code>, or let an agent do it.
		</Empty>
	);
}

function select(all: readonly ListedProcess[], filter: string, showsEnded: boolean): ListedProcess[] {
	const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
	const isShown = (process: ListedProcess): boolean => {
		if (!showsEnded && !isRunning(process)) return false;
		if (words.length === 0) return true;
		const {processId, name, argv, owner, driver, labels = {}} = process;
		const facts = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
		const text = [processId, name, owner, driver, ...argv, ...facts].join(' ').toLowerCase();
		return words.every(word => text.includes(word));
	};
	return all.filter(isShown).sort((one, other) => rankOf(one) - rankOf(other));
}

/** Processes that wait for input come first, then the other running ones, then those that have ended. */
function rankOf(process: ListedProcess): number {
	if (!isRunning(process)) return 2;
	return isWaitingForInput(process) ? 0 : 1;
}

function isRunning({state}: ListedProcess): boolean {
	return state === 'running' || state === 'starting';
}

interface RowProps {
	readonly machine: string;
	readonly process: ListedProcess;
}

/** Drawn anew only when something that is shown has changed. */
const ProcessRow = memo(PlainRow, (before: RowProps, after: RowProps) => keyOf(before) === keyOf(after));

function keyOf({machine, process}: RowProps): string {
	const {state, exitCode, driver, attached, waitingFor, outputBytes, ageMs, name, spilledBytes} = process;
	const age = toAgeText(ageMs);
	return JSON.stringify([
		machine,
		state,
		exitCode,
		driver,
		attached?.length,
		waitingFor,
		outputBytes,
		age,
		name,
		spilledBytes,
	]);
}

function PlainRow({machine, process}: RowProps): VNode {
	const {processId, name, argv, driver, attached = [], ageMs, outputBytes, labels = {}, durable} = process;
	const viewers = attached.filter(({role}) => role === 'observe').length;
	return (
		<div class="row" role="row">
			<span role="cell" class="what">
				<a href={hrefOf({kind: 'process', machine, process: processId})}>{toShown(name ?? processId)}</a>
				<code title={toCommandLine(argv)}>{toCommandLine(argv)}</code>
				{Object.entries(labels).map(([key, value]) => (
					<span class="label" key={key}>
						{toShown(`${key}=${value}`)}
					</span>
				))}
				{durable && <span class="label">durable</span>}
			</span>
			<span role="cell">
				<ProcessBadge process={process} />
			</span>
			<span role="cell" class="who">
				{driver ? toShown(driver) : <span class="dim">nobody</span>}
				{viewers > 0 && <span class="dim"> +{viewers}</span>}
			</span>
			<span role="cell" class="number">
				{toAgeText(ageMs)}
			</span>
			<span role="cell" class="number">
				{toSizeText(outputBytes)}
			</span>
		</div>
	);
}

export function ProcessBadge({process}: {process: ListedProcess}): VNode {
	const {state, waitingFor, exitCode, reason} = process;
	if (waitingFor) return <Badge tone="warn">waits for {describeProcessWait(waitingFor)}</Badge>;
	if (isRunning(process)) return <Badge tone="busy">{state}</Badge>;
	if (state === 'lost') return <Badge tone="bad">lost</Badge>;
	return (
		<Badge tone={exitCode === 0 ? 'good' : 'bad'}>
			{reason === null || reason === 'exit' ? `exit ${exitCode}` : reason}
		</Badge>
	);
}
