import type {VNode} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import {readBytes} from './directory-state.js';
import type {MachineLink} from './machine-link.js';
import {Empty} from './page-parts.js';
import {toErrorText, toShown} from './shown-text.js';
import {type ListeningPort, parseListening} from './socket-table.js';

const POLL_MS = 4000;
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const MAX_TABLE_BYTES = 4 * 1024 * 1024;
const LOOK_TIMEOUT_MS = 5000;
/** Characters of an answer that are shown. */
const MAX_ANSWER_CHARS = 4000;

type State =
	| {readonly kind: 'loading'}
	| {readonly kind: 'listed'; readonly ports: readonly ListeningPort[]; readonly canForward: boolean}
	| {readonly kind: 'untold'};

/** Ports that programs of the machine listen on. */
export function PortsView({link}: {link: MachineLink; rest: string}): VNode {
	const [state, setState] = useState<State>({kind: 'loading'});
	const [answer, setAnswer] = useState<{readonly port: number; readonly text: string} | undefined>();
	useEffect(() => {
		let isOver = false;
		const look = async (): Promise<void> => {
			const next = await readPorts(link);
			if (!isOver) setState(next);
		};
		void look();
		const timer = setInterval(() => document.visibilityState === 'visible' && void look(), POLL_MS);
		return () => {
			isOver = true;
			clearInterval(timer);
		};
	}, [link]);
	const ask = async (port: number): Promise<void> => {
		setAnswer({port, text: 'asking…'});
		setAnswer({port, text: await askPort(link, port)});
	};
	return (
		<>
			<div class="view-head">
				<h1>Ports</h1>
			</div>
			{state.kind === 'listed' && !state.canForward && (
				<p class="notices dim">
					This machine does not forward ports. Start its server with <code>--allow-forward loopback</code> to reach them
					from your machine.
				</p>
			)}
			{state.kind === 'untold' && <Empty title="Not told">This system does not list its ports.</Empty>}
			{state.kind === 'listed' && state.ports.length === 0 && (
				<Empty title="No program listens">on this machine.</Empty>
			)}
			{state.kind === 'listed' && state.ports.length > 0 && (
				<div class={`table ports${state.canForward ? '' : ' local'}`} role="table" aria-label="Ports">
					<div class="row head" role="row">
						<span role="columnheader">Port</span>
						<span role="columnheader">Address</span>
						<span role="columnheader">HTTP</span>
						{state.canForward && <span role="columnheader">From your machine</span>}
					</div>
					{state.ports.map(({port, address}) => (
						<div class="row" role="row" key={`${address} ${port}`}>
							<span role="cell">
								<strong>{port}</strong>
							</span>
							<span role="cell" class="mono">
								{address}
							</span>
							<span role="cell">
								<button type="button" aria-label={`Ask port ${port} over HTTP`} onClick={() => void ask(port)}>
									Ask
								</button>
							</span>
							{state.canForward && (
								<span role="cell" class="text mono">{`longarm forward -e ${toShown(link.name)} ${port}`}</span>
							)}
						</div>
					))}
				</div>
			)}
			{answer && (
				<pre class="output" tabIndex={0} role="region" aria-label={`Answer of port ${answer.port}`}>
					{answer.text}
				</pre>
			)}
		</>
	);
}

async function readPorts(link: MachineLink): Promise<State> {
	try {
		const tables = await Promise.all(
			TABLES.map(path => readBytes(link.files, path, MAX_TABLE_BYTES).catch(() => undefined)),
		);
		const texts = tables.filter(table => table !== undefined).map(table => new TextDecoder().decode(table));
		if (texts.length === 0) return {kind: 'untold'};
		const {capabilities} = await (await link.client()).describe();
		const canForward = capabilities['portForward'] === true;
		return {kind: 'listed', ports: parseListening(texts.join('\n')), canForward};
	} catch {
		return {kind: 'untold'};
	}
}

/** The machine sends the request, not this browser: the answer is text here, and nothing of it runs. */
async function askPort(link: MachineLink, port: number): Promise<string> {
	try {
		const response = await link.http.fetch(`http://127.0.0.1:${port}/`, {
			timeoutMs: LOOK_TIMEOUT_MS,
			redirect: 'manual',
		});
		const head = [...response.headers].map(([name, value]) => `${name}: ${value}`);
		const body = (await response.text()).slice(0, MAX_ANSWER_CHARS);
		return `HTTP ${response.status}\n${head.map(toShown).join('\n')}\n\n${body}`;
	} catch (error) {
		return toErrorText(error);
	}
}
