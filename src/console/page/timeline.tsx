import type {VNode} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import type {ListedProcess} from '../../client/process/shared-process.js';
import type {MachineLink} from './machine-link.js';
import {toScreenOutput} from './screen-output.js';
import {toClockText, toDurationText, toErrorText} from './shown-text.js';
import type {TerminalPane} from './terminal-pane.js';

const STEP_MS = 100;

/** A slider over the life of a terminal: another moment shows the screen of then, over the present one. */
export function Timeline({link, process}: {link: MachineLink; process: ListedProcess}): VNode {
	const {startedAtMs, ageMs} = process;
	const host = useRef<HTMLDivElement>(null);
	const [atMs, setAt] = useState<number | undefined>();
	const [problem, setProblem] = useState<string | undefined>();
	const past = useRef<PastScreen | undefined>(undefined);
	useEffect(() => () => past.current?.close(), []);
	const lengthMs = Math.max(STEP_MS, Math.ceil(ageMs / STEP_MS) * STEP_MS);
	const show = (offset: number): void => {
		if (offset >= lengthMs) {
			setAt(undefined);
			past.current?.close();
			past.current = undefined;
			return;
		}
		setAt(offset);
		past.current ??= new PastScreen(host.current!, link, process.processId, setProblem);
		past.current.show(startedAtMs + offset);
	};
	const isPast = atMs !== undefined;
	return (
		<>
			<div class="past" ref={host} hidden={!isPast} role="group" aria-label="Screen of a past moment" />
			<div class="timeline">
				<input
					type="range"
					aria-label="Moment to show"
					aria-valuetext={isPast ? `${toDurationText(atMs)} after the start` : 'now'}
					min={0}
					max={lengthMs}
					step={STEP_MS}
					value={atMs ?? lengthMs}
					onInput={event => show(Number(event.currentTarget.value))}
				/>
				<output>{isPast ? `${toClockText(startedAtMs + atMs)} (+${toDurationText(atMs)})` : 'now'}</output>
				<button type="button" disabled={!isPast} onClick={() => show(lengthMs)}>
					Live
				</button>
				{problem !== undefined && isPast && (
					<span class="problem" role="alert">
						{problem}
					</span>
				)}
			</div>
		</>
	);
}

/** Asks for one screen at a time, always for the moment that was chosen last. */
class PastScreen {
	readonly #element: HTMLElement;
	readonly #link: MachineLink;
	readonly #processId: string;
	readonly #failed: (reason: string | undefined) => void;
	#pane: TerminalPane | undefined;
	#wanted: number | undefined;
	#isAsking = false;
	#isClosed = false;

	constructor(
		element: HTMLElement,
		link: MachineLink,
		processId: string,
		failed: (reason: string | undefined) => void,
	) {
		this.#element = element;
		this.#link = link;
		this.#processId = processId;
		this.#failed = failed;
	}

	show(ms: number): void {
		this.#wanted = ms;
		if (!this.#isAsking) void this.#ask();
	}

	close(): void {
		this.#isClosed = true;
		this.#pane?.[Symbol.dispose]();
	}

	async #ask(): Promise<void> {
		this.#isAsking = true;
		try {
			while (this.#wanted !== undefined && !this.#isClosed) {
				const at = this.#wanted;
				this.#wanted = undefined;
				const client = await this.#link.client();
				const screen = await (await client.reference(this.#processId)).screen({at, format: 'ansi'});
				const {TerminalPane} = await import('./terminal-pane.js');
				if (this.#isClosed) return;
				this.#pane ??= new TerminalPane(this.#element, {
					typed: () => {},
					titled: () => {},
					takesKeys: () => false,
					left: () => {},
					isLog: false,
					isStill: true,
				});
				this.#pane.resize(screen);
				this.#pane.write(toScreenOutput(screen));
				this.#failed(undefined);
			}
		} catch (error) {
			this.#failed(toErrorText(error));
		} finally {
			this.#isAsking = false;
		}
	}
}
