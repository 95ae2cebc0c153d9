import {INHERITED_DESCRIPTOR} from '../backends/backend.js';
import type {SnapshotShell} from '../prepare-spawn.js';

/** Descriptor to which a capture writes: startup files rarely use it, and every shell can name it. */
const CAPTURE_DESCRIPTOR = 7;
/** By process instead of `/dev/fd`, which some containers lack. */
const STATE_FILE = `/proc/self/fd/${INHERITED_DESCRIPTOR}`;

interface ShellScripts {
	/** Option that runs a command without startup files. */
	readonly bareOption: string;
	/** Undoes what the option changes besides that. */
	readonly resetOption: string;
	/** Loads a file into the running shell; a file that is missing must not end the shell. */
	readonly load: string;
	/** Turns the command into text that comes after the line that loads the state. */
	readonly run: (command: string) => string;
	/**
	 * Loads the startup file that the shell reads for people, as upstream does. Then prints commands that restore the state,
	 * a NUL byte, and the environment. Backslashes keep aliases out. Options come last where they may forbid the
	 * definitions before them, and first where definitions are parsed by them.
	 */
	readonly capture: string;
}

const asWritten = (command: string): string => command;

const SCRIPTS: Record<SnapshotShell, ShellScripts> = {
	bash: {
		bareOption: '-pc',
		resetOption: 'set +o privileged; ',
		load: '.',
		run: asWritten,
		capture: `
			[ -n "\${BASH_ENV-}" ] || [ ! -r "\${HOME-}/.bashrc" ] || . "$HOME/.bashrc"
			{
				\\builtin shopt -p; \\builtin declare -f; \\builtin declare -Fx; \\builtin umask -p; \\builtin alias -p
				\\builtin set +o; \\builtin printf '\\0'; /usr/bin/env -0
			} >&${CAPTURE_DESCRIPTOR} ${CAPTURE_DESCRIPTOR}>&-`,
	},
	zsh: {
		bareOption: '-fc',
		resetOption: 'setopt RCS; ',
		load: '.',
		// zsh parses a command as a whole, before its first line has defined aliases.
		run: command => `eval ${quote(command)}`,
		capture: `
			[[ ! -r \${ZDOTDIR:-\${HOME-}}/.zshrc ]] || . \${ZDOTDIR:-\${HOME-}}/.zshrc
			{
				\\builtin set +o; \\builtin functions; \\builtin print -r -- "umask $(\\builtin umask)"; \\builtin alias -L
				\\builtin print -n '\\0'; /usr/bin/env -0
			} >&${CAPTURE_DESCRIPTOR} ${CAPTURE_DESCRIPTOR}>&-`,
	},
	// Some shells cannot print functions, and print aliases without the command that defines them.
	sh: {
		bareOption: '-c',
		resetOption: '',
		load: 'command .',
		run: asWritten,
		capture: `
			[ -z "\${ENV-}" ] || [ ! -r "$ENV" ] || . "$ENV"
			{
				! \\command -v typeset >/dev/null || \\typeset -f
				\\printf 'umask %s\\n' "$(\\umask)"; \\alias | \\sed -e 's/^alias //' -e 's/^/alias /'
				\\set +o; \\printf '\\0'; /usr/bin/env -0
			} >&${CAPTURE_DESCRIPTOR} ${CAPTURE_DESCRIPTOR}>&-`,
	},
};

/** Command that prints the state of a login shell to standard output, without what its startup files print. */
export function captureCommand(shell: SnapshotShell, path: string): string[] {
	const {bareOption, capture} = SCRIPTS[shell];
	const silence = `[ -e /proc/self/fd/1 ] && exec ${CAPTURE_DESCRIPTOR}>&1 >/dev/null 2>&1 && exec "$0" -lc "$1"`;
	return [path, bareOption, silence, path, capture];
}

/** Returns the command with its shell state loaded from a descriptor instead of startup files. */
export function restoreCommand(shell: SnapshotShell, [path, , command = '', ...rest]: readonly string[]): string[] {
	const {bareOption, resetOption, load, run} = SCRIPTS[shell];
	const report = `printf 'failed to restore shell snapshot\\n' >&2`;
	const restore = `${resetOption}if ! ${load} ${STATE_FILE} >/dev/null 2>&1; then ${report}; fi`;
	return [path!, bareOption, `${restore}\n${run(command)}`, ...rest];
}

/** Content of the descriptor. It is closed first, so that no program the command starts inherits it. */
export function restoreScript(state: Uint8Array): Uint8Array {
	return Buffer.concat([Buffer.from(`exec ${INHERITED_DESCRIPTOR}<&-\n`), state]);
}

function quote(text: string): string {
	return `'${text.replaceAll("'", "'\\''")}'`;
}
