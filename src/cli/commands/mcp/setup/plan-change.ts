import {isDeepStrictEqual} from 'node:util';
import {readJsonEntry, removeJsonEntry, setJsonEntry} from './edit-json.js';
import {readTomlEntry, removeTomlEntry, setTomlEntry} from './edit-toml.js';
import {ENTRY_NAME, type McpClient} from './mcp-clients.js';
import type {RecordedEdit} from './setup-record.js';
import {applyEdit, type TextEdit} from './text-edit.js';

/** Change of one configuration. */
export type ConfigChange =
	| {readonly kind: 'add' | 'update'; readonly after: string; readonly edit: RecordedEdit}
	/** The text without our entry; undefined if the file is to be removed. */
	| {readonly kind: 'remove'; readonly after: string | undefined}
	/** It is as it should be. */
	| {readonly kind: 'unchanged'};

/** A configuration as it is; undefined if there is no file. */
export interface ConfigState {
	readonly text: string | undefined;
	readonly recorded: RecordedEdit | undefined;
}

/** A client in the form that its configuration has. A server that is called as the section of newer versions is none. */
export function formOf(client: McpClient, text = ''): McpClient {
	const {newer, format} = client;
	if (!newer || format.kind === 'toml') return client;
	const servers = readJsonEntry(text, newer.section, format);
	const isServer = isTable(servers) && ['type', 'command', 'enabled'].some(name => !isTable(servers[name] ?? {}));
	return isTable(servers) && !isServer ? {...client, ...newer} : client;
}

/** The change that makes a configuration name our server. Throws an `UneditableError`. */
export function planSetup(
	client: McpClient,
	entry: Record<string, unknown>,
	{text = '', recorded}: ConfigState,
	isNewFile: boolean,
): ConfigChange {
	const existing = readEntry(client, text);
	if (existing !== undefined && hasMembers(existing, entry)) return {kind: 'unchanged'};
	const undone = recorded && undo(text, recorded);
	// An entry of ours is taken out first, so that the record tells of the text before all edits.
	const base = undone ?? text;
	const own = readEntry(client, base);
	const edit = setEntry(client, base, isTable(own) ? {...own, ...entry} : entry);
	const kind = existing === undefined ? 'add' : 'update';
	const isMade = undone === undefined ? isNewFile : recorded!.isNewFile;
	return {kind, after: applyEdit(base, edit), edit: toRecorded(base, edit, isMade)};
}

/** The change that takes our server out again: byte for byte if the edit is still there as it was made. */
export function planUninstall(client: McpClient, {text, recorded}: ConfigState): ConfigChange {
	if (text === undefined) return {kind: 'unchanged'};
	const undone = recorded && undo(text, recorded);
	if (undone !== undefined) return {kind: 'remove', after: recorded!.isNewFile && undone === '' ? undefined : undone};
	const edit = removeEntry(client, text);
	return edit ? {kind: 'remove', after: applyEdit(text, edit)} : {kind: 'unchanged'};
}

/** Undefined if what was inserted is not there any more, or more than once. */
function undo(text: string, {inserted, removed}: RecordedEdit): string | undefined {
	const at = text.indexOf(inserted);
	if (at < 0 || text.includes(inserted, at + 1)) return undefined;
	return applyEdit(text, {start: at, end: at + inserted.length, text: removed});
}

function toRecorded(text: string, {start, end, text: inserted}: TextEdit, isNewFile: boolean): RecordedEdit {
	return {removed: text.slice(start, end), inserted, isNewFile};
}

function readEntry({format, section}: McpClient, text: string): unknown {
	if (format.kind === 'toml') return readTomlEntry(text, section[0], ENTRY_NAME);
	return readJsonEntry(text, [...section, ENTRY_NAME], format);
}

function setEntry({format, section}: McpClient, text: string, value: Record<string, unknown>): TextEdit {
	if (format.kind === 'toml') return setTomlEntry(text, section[0], ENTRY_NAME, value);
	return setJsonEntry(text, [...section, ENTRY_NAME], value, format);
}

function removeEntry({format, section}: McpClient, text: string): TextEdit | undefined {
	if (format.kind === 'toml') return removeTomlEntry(text, section[0], ENTRY_NAME);
	return removeJsonEntry(text, [...section, ENTRY_NAME], format);
}

/** Whether an entry says what it should; members that its owner added, such as variables, are not judged. */
function hasMembers(existing: unknown, entry: Record<string, unknown>): boolean {
	return isTable(existing) && Object.entries(entry).every(([key, value]) => isDeepStrictEqual(existing[key], value));
}

function isTable(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}
