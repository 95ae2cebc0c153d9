// Renders the tables of settings and errors for docs/. Pure: tables go in, text comes out.

export function renderSettings(settings) {
	const rows = Object.entries(settings).map(([name, {kind, fallback, help}]) => {
		const value = kind.placeholder === undefined ? '' : ` ${kind.placeholder.replaceAll('|', '\\|')}`;
		const key = name.replaceAll('-', '_');
		return `| \`--${name}${value}\` | \`LONGARM_${key.toUpperCase()}\` | \`${key}\` | \`${kind.format(fallback)}\` | ${help} |`;
	});
	return [
		'# Settings of `longarm serve`',
		'',
		'Generated from `src/cli/commands/serve/serve-settings.ts` by `npm run docs`; a test keeps it true.',
		'',
		'A flag wins over an environment variable, a variable over the settings file. The file is TOML and is named with',
		'`--config FILE` or `LONGARM_CONFIG`; an unknown key in it is an error. Sizes take `KiB`, `MiB`, `GiB`; times take',
		'`ms`, `s`, `m`, `h`.',
		'',
		'| flag | variable | key in the file | default | what it does |',
		'|---|---|---|---|---|',
		...rows,
		'',
	].join('\n');
}

export function renderErrors(errors) {
	return [
		'# Errors',
		'',
		'Generated from `src/shared/errors.ts` by `npm run docs`; a test keeps it true.',
		'',
		'Every failure that longarm itself names has a stable code. It is `error.code` of a `LongarmError`.',
		'',
		'| code | what it means | what helps |',
		'|---|---|---|',
		...Object.entries(errors).map(([code, {meaning, hint}]) => `| \`${code}\` | ${meaning} | ${hint} |`),
		'',
	].join('\n');
}
