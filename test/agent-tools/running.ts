import {onTestFinished} from 'vitest';
import type {ExecEnvironment} from '../../src/agent-tools/exec-environment.js';
import type {ExecEvent} from '../../src/agent-tools/exec-events.js';
import type {UnifiedExecOptions} from '../../src/agent-tools/exec-options.js';
import type {StructuredAnswer, ToolAnswer} from '../../src/agent-tools/tool-answer.js';
import {UnifiedExec} from '../../src/agent-tools/unified-exec.js';
import type {ProcessHandle, StartParams} from '../../src/client/process/process-handle.js';
import {memoryLink, plain} from './environments.js';

export interface Running {
	readonly exec: UnifiedExec;
	/** Everything that was told, in order. */
	readonly events: ExecEvent[];
	/** Waits for an event. */
	readonly told: (matches: (event: ExecEvent) => boolean) => Promise<ExecEvent>;
	/** Starts a command and lets it go as soon as it says something; answers with its number. */
	readonly begin: (args: Record<string, unknown>) => Promise<number>;
}

/** Unified exec with numbers from 1000 on, without login shells; closed with the test. */
export async function running(options: UnifiedExecOptions = {}): Promise<Running> {
	const events: ExecEvent[] = [];
	const waiting = new Set<() => void>();
	let next = 1000;
	let begun = 0;
	const exec = new UnifiedExec({
		environment: options.environments ? undefined : (await memoryLink()).environment,
		loginShells: false,
		nextSessionId: () => next++,
		onEvent: event => {
			events.push(event);
			for (const look of waiting) look();
		},
		...options,
	});
	onTestFinished(() => exec.close());
	const told = (matches: (event: ExecEvent) => boolean) =>
		new Promise<ExecEvent>(resolve => {
			const look = () => {
				const found = events.find(matches);
				if (!found) return;
				waiting.delete(look);
				resolve(found);
			};
			waiting.add(look);
			look();
		});
	const begin = async (args: Record<string, unknown>) => {
		const controller = new AbortController();
		const callId = `begun-${begun++}`;
		const answer = exec.execCommand({...args, yield_time_ms: 30_000}, {callId, signal: controller.signal});
		await told(event => event.kind === 'outputDelta' && event.callId === callId);
		controller.abort();
		return structured(await answer).session_id!;
	};
	return {exec, events, told, begin};
}

/** Structured content of a successful call. */
export function structured(answer: ToolAnswer): StructuredAnswer {
	if (answer.isError) throw new Error(answer.text);
	return answer.structured;
}

/** The same environment with some methods of its processes replaced, and its starts heard of. */
export function altered(
	environment: ExecEnvironment,
	changes: (handle: ProcessHandle) => Partial<ProcessHandle>,
	starts: StartParams[] = [],
): ExecEnvironment {
	return {
		...plain(environment),
		processes: {
			start: async (params, options) => {
				starts.push(params);
				const started = await environment.processes.start(params, options);
				return {...started, process: withChanges(started.process, changes(started.process))};
			},
		},
	};
}

function withChanges(handle: ProcessHandle, changes: Partial<ProcessHandle>): ProcessHandle {
	return new Proxy(handle, {
		get(target, name) {
			if (name in changes) return changes[name as keyof ProcessHandle];
			const value: unknown = Reflect.get(target, name, target);
			return typeof value === 'function' ? (value.bind(target) as unknown) : value;
		},
	});
}
