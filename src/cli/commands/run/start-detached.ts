import type {Environment} from '../../../environments/environment.js';
import {toSafeJson} from '../../../shared/safe-json.js';
import {writeMessage} from '../../common/messages.js';
import {printable} from '../../common/printable.js';
import {withEnvironment} from '../../common/processes/open-process.js';
import {runUntilBrokenPipe, writeOut} from '../../common/stdout.js';
import {EXIT} from '../../exit-codes.js';
import {type AttachedCommand, readEnvironmentFacts, startAttached} from './attach/start-attached.js';

/** Size of a terminal that nobody looks at yet. */
const USUAL_SIZE = {rows: 24, cols: 80};

export interface DetachedStart {
	readonly command: AttachedCommand;
	/** Whether the id is written as JSON. */
	readonly json: boolean;
	/** Name of the machine that a hub has chosen; undefined where it was named. */
	readonly member: Promise<string> | undefined;
}

/** Starts a command that outlives this program, and writes its id. */
export function startDetached(environment: Environment, {command, json, member}: DetachedStart): Promise<number> {
	return withEnvironment(environment, async () => {
		const facts = await readEnvironmentFacts(environment);
		const started = await startAttached(environment, command, {
			facts,
			terminal: command.tty ? {size: readOwnSize()} : undefined,
			inputKind: 'nothing',
			isDetached: true,
		});
		if ('exitCode' in started) {
			writeMessage(`error: ${started.message}`, `hint: ${started.hint}`);
			return started.exitCode;
		}
		const {processId} = started.process;
		const place = await member;
		const name = command.sharing?.name ?? null;
		const text = toSafeJson({id: processId, name, ...(place !== undefined && {environment: place})});
		const line = json ? text : printable(processId);
		if (!json && place !== undefined) writeMessage(`on ${place}`);
		return runUntilBrokenPipe(async () => {
			await writeOut(`${line}\n`);
			return EXIT.ok;
		});
	});
}

/** That of our own terminal, which will probably be the one it is attached to. */
export function readOwnSize(): {readonly rows: number; readonly cols: number} {
	const screen = [process.stdout, process.stderr].find(({isTTY}) => isTTY);
	if (!screen || !(screen.rows > 0 && screen.columns > 0)) return USUAL_SIZE;
	return {rows: screen.rows, cols: screen.columns};
}
