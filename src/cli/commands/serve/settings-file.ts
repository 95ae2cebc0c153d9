import {readFileSync} from 'node:fs';
import {parse, TomlError} from 'smol-toml';
import {fileKeyOf, invalidSetting, SETTINGS, type SettingsFile} from './serve-settings.js';

/** Reads a settings file. A module of its own, because the settings are loaded at every start and the parser is large. */
export function readSettingsFile(path: string): SettingsFile {
	let table: Record<string, unknown>;
	try {
		table = parse(readFileSync(path, 'utf8'));
	} catch (error) {
		const where = error instanceof TomlError ? `${path}:${error.line}:${error.column}` : path;
		throw invalidSetting(`cannot read settings from ${where}: ${(error as Error).message.split('\n', 1)[0]}`);
	}
	const known = new Set(Object.keys(SETTINGS).map(fileKeyOf));
	for (const [key, value] of Object.entries(table)) {
		if (!known.has(key))
			throw invalidSetting(`${path}: unknown setting \`${key}\`; known are ${[...known].join(', ')}`);
		if (typeof value === 'object') throw invalidSetting(`${path}: setting \`${key}\` takes a single value`);
	}
	return {path, values: table as Record<string, string | boolean>};
}
