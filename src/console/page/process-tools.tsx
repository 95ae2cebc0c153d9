import type {VNode} from 'preact';
import {useState} from 'preact/hooks';
import type {ListedProcess} from '../../client/process/shared-process.js';
import type {MachineLink} from './machine-link.js';
import type {ProcessViewer} from './process-viewer.js';
import {saveCast, saveOutput} from './save-file.js';
import {toShown} from './shown-text.js';
import type {TerminalPane} from './terminal-pane.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGSTOP', 'SIGCONT', 'SIGKILL'];
/** Time a process may take to end by itself. */
const END_GRACE_MS = 5000;

export interface ProcessToolsProps {
	readonly link: MachineLink;
	readonly process: ListedProcess;
	readonly viewer: ProcessViewer;
	readonly pane: TerminalPane;
	readonly mayDrive: boolean;
	readonly isShared: boolean;
	/** Shows the reason if it fails. */
	readonly attempt: (work: Promise<unknown>) => void;
	readonly find: () => void;
}

/** Buttons for one process. */
export function ProcessTools(props: ProcessToolsProps): VNode {
	const {link, process, viewer, pane, mayDrive, isShared, attempt, find} = props;
	const isDriving = viewer.role.value === 'drive';
	const isRunning = process.state === 'running' || process.state === 'starting';
	const driver = viewer.driver.value;
	const {kind} = viewer.status.value;
	const isAttached = kind === 'live' || kind === 'jumping';
	const take = async (): Promise<void> => {
		await viewer.takeControl();
		pane.focus();
	};
	return (
		<div class="tools" role="toolbar" aria-label="Process">
			{isRunning && mayDrive && !isDriving && (
				<button
					type="button"
					class="primary"
					disabled={!isAttached}
					title={driver ? `${toShown(driver)} keeps watching` : undefined}
					onClick={() => attempt(take())}
				>
					Take control
				</button>
			)}
			{isDriving && (
				<button type="button" class="primary" onClick={() => attempt(viewer.giveBack())}>
					Give back
				</button>
			)}
			{isDriving && process.tty && (
				<button
					type="button"
					title="Give the terminal the size of this window"
					onClick={() => attempt(fit(viewer, pane))}
				>
					Fit
				</button>
			)}
			{isDriving && <SignalChoice send={name => attempt(viewer.signal(name))} />}
			<button type="button" onClick={find}>
				Find
			</button>
			<button type="button" onClick={() => attempt(link.client().then(client => saveOutput(client, process)))}>
				Download
			</button>
			{process.tty && process.spilledBytes != null && (
				<button
					type="button"
					title="Recording for asciinema"
					onClick={() => attempt(link.client().then(client => saveCast(client, process)))}
				>
					.cast
				</button>
			)}
			{isRunning && mayDrive && !isShared && <EndButton end={() => attempt(viewer.end(END_GRACE_MS))} />}
		</div>
	);
}

async function fit(viewer: ProcessViewer, pane: TerminalPane): Promise<void> {
	const size = pane.roomySize();
	if (size) await viewer.resize(size);
}

function SignalChoice({send}: {send: (name: string) => void}): VNode {
	return (
		<select
			aria-label="Send a signal"
			value=""
			onChange={event => {
				const {value} = event.currentTarget;
				event.currentTarget.value = '';
				if (value !== '') send(value);
			}}
		>
			<option value="">Signal…</option>
			{SIGNALS.map(name => (
				<option key={name} value={name}>
					{name}
				</option>
			))}
		</select>
	);
}

/** Asks once more: what ends is gone. */
function EndButton({end}: {end: () => void}): VNode {
	const [isAsking, setAsking] = useState(false);
	if (!isAsking) {
		return (
			<button type="button" class="danger" onClick={() => setAsking(true)}>
				End
			</button>
		);
	}
	const answer = (isMeant: boolean): void => {
		setAsking(false);
		if (isMeant) end();
	};
	return (
		<span class="ask" role="group" aria-label="End the process?">
			<button type="button" class="danger" onClick={() => answer(true)}>
				Really end it
			</button>
			<button type="button" onClick={() => answer(false)}>
				Keep
			</button>
		</span>
	);
}
