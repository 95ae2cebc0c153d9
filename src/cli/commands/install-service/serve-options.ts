import {usageError} from '../../exit-codes.js';
import {resolveSettings, SETTINGS, type SettingName, type Settings} from '../serve/serve-settings.js';

/** The settings that options of `longarm serve` stand for; throws for those that it would not take. */
export function parseServeOptions(given: readonly string[]): Settings {
	const flags: Partial<Record<SettingName, string | boolean>> = {};
	for (let at = 0; at < given.length; at++) {
		const [, name, attached] = /^--([^=]+)(?:=(.*))?$/s.exec(given[at]!) ?? [];
		if (name === 'config') {
			if (attached === undefined) at++;
		} else if (name !== undefined && Object.hasOwn(SETTINGS, name)) {
			const isSwitch = SETTINGS[name as SettingName].kind.placeholder === undefined;
			const value = attached ?? (isSwitch ? true : given[++at]);
			if (value === undefined) throw usageError(`--${name} needs a value`);
			flags[name as SettingName] = joinRepeated(name as SettingName, flags[name as SettingName], value);
		} else {
			throw usageError(`\`${given[at]}\` is no option of longarm serve`);
		}
	}
	return resolveSettings({flags, variables: {}, file: undefined});
}

function joinRepeated(
	name: SettingName,
	earlier: string | boolean | undefined,
	value: string | boolean,
): string | boolean {
	const {isList = false} = SETTINGS[name].kind;
	return isList && earlier !== undefined ? `${earlier},${value}` : value;
}
