import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {type CommandSpec, CommandTemplate} from '../../src/jobs/command/command-spec.js';
import {JobInputError} from '../../src/jobs/input/job-input-error.js';

/** Texts that do something if any shell parses them; each of them would make the file `ran`. */
const HOSTILE = [
	'$(touch ran)',
	'`touch ran`',
	'"; touch ran; "',
	"'; touch ran; '",
	'\'"; touch ran; "\'',
	'; touch ran #',
	'| touch ran',
	'\ntouch ran\n',
	'\nEOF\ntouch ran\n',
	'\n\tEOF\ntouch ran\n',
	') touch ran ;; esac; touch ran #',
	'a[$(touch ran)]',
	'}; touch ran; {',
	'${x:-$(touch ran)}',
	'\\',
	"\\'; touch ran #",
	'~',
	'*',
	'a  b',
	'{note}',
	'${LONGARM_VALUE_1}',
	'# comment',
	'-n',
	'',
];

/** The shell of jobs is one of these, depending on the system. */
const SHELLS = ['/bin/sh', '/bin/bash'].filter(path => existsSync(path));

const job = {headers: ['note', 'n', 'odd name;$(x)'], inputFormat: 'csv'} as const;

function specOf(command: CommandSpec['command']): CommandSpec {
	return {kind: 'command', command, result: 'any', stdin: 'row', logs: 'all'};
}

function newDirectory(): string {
	const directory = mkdtempSync(join(tmpdir(), 'longarm-line-'));
	onTestFinished(() => rmSync(directory, {recursive: true, force: true}));
	return directory;
}

/** What the line prints with this value, and the files that it has made. */
function runLine(line: string, note: string, shell = '/bin/sh') {
	const directory = newDirectory();
	const template = new CommandTemplate(specOf({line}), job);
	const {argv, variables} = template.render({
		row: {note, n: '7', 'odd name;$(x)': 'odd'},
		itemId: 'i',
		rowIndex: 0,
		jobId: 'j',
	});
	const text = execFileSync(shell, argv.slice(1), {
		cwd: directory,
		env: {PATH: process.env['PATH'], HOME: '/home/of/nobody', ...variables},
		encoding: 'utf8',
	});
	return {text, files: readdirSync(directory)};
}

function refuse(command: CommandSpec['command']): string {
	try {
		void new CommandTemplate(specOf(command), job);
	} catch (error) {
		if (!(error instanceof JobInputError)) throw error;
		return error.message;
	}
	return 'taken';
}

const SAFE_LINES: readonly [line: string, print: (value: string) => string][] = [
	[`printf '[%s]' {note}`, value => `[${value}]`],
	[`printf '[%s]' "hello {note}"`, value => `[hello ${value}]`],
	[`printf '[%s]' 'hello {note}'`, value => `[hello ${value}]`],
	[`printf '[%s]' it\\'s{note}`, value => `[it's${value}]`],
	[`printf '[%s]' "$(printf '%s.' {note})"`, value => `[${value}.]`],
	[`printf '[%s]' "$(printf '%s.' "a {note}")"`, value => `[a ${value}.]`],
	[`x={note}; printf '[%s]' "$x"`, value => `[${value}]`],
	[`export x={note}; printf '[%s]' "$x"`, value => `[${value}]`],
	[`cat <<EOF\n[{note}]\nEOF`, value => `[${value}]\n`],
	[`cat <<-EOF\n\t[{note}]\n\tEOF\nprintf end`, value => `[${value}]\nend`],
	[`cat <<EOF; printf '[%s]' "{note}"\nit's\nEOF`, value => `it's\n[${value}]`],
	[`case {note} in {note}) printf same;; *) printf other;; esac`, () => 'same'],
	[`printf '[%s]' "$(case x in x) printf '%s.' "{note}";; esac)"`, value => `[${value}.]`],
	[`printf a # it's {note}\nprintf b`, () => 'ab'],
	[`printf '[%s]' ~{note}`, value => `[~${value}]`],
	[`f() {{ printf '[%s]' {note}; }}; f other`, value => `[${value}]`],
	[`if test {note} = {note}; then printf yes; fi`, () => 'yes'],
	[`sh -c 'printf "[%s]" "$1"' sh {note}`, value => `[${value}]`],
	[`printf %s {note} | cat`, value => value],
	[`printf '%s' "{odd name;$(x)}"`, () => 'odd'],
	[`printf '%s' $((2 * {n}))`, () => '14'],
];

test.each(SAFE_LINES)('no value is code in: %s', (line, print) => {
	for (const shell of SHELLS) {
		for (const value of HOSTILE) {
			const {text, files} = runLine(line, value, shell);
			expect(files, `made by ${JSON.stringify(value)} in ${shell}`).toEqual([]);
			expect(text).toBe(print(value));
		}
	}
});

test('a value in the place of a command is a name and no assignment', () => {
	const line = '{note} printf set; printf "[%s]" "$x"';
	expect(() => runLine(line, 'x=1')).not.toThrow();
	expect(runLine(line, 'x=1').text).toBe('[]');
});

test.each([
	[{line: `sh -c "echo {note}"`}],
	[{line: `sh -c 'echo {note}'`}],
	[{line: `bash -ec 'echo {note}'`}],
	[{line: `/bin/bash -o pipefail -c "echo {note}"`}],
	[{line: `env A=1 sudo -u x sh -c {note}`}],
	[{line: `sh -c "$(echo {note})"`}],
	[{line: `"$SHELL" -c 'echo {note}'`}],
	[{line: `find . -exec sh -c 'echo {note}' \\;`}],
	[{line: `su user -c "echo {note}"`}],
	[{line: `python3 -c "print('{note}')"`}],
	[{line: `perl -e'print {note}'`}],
	[{line: `node --eval "{note}"`}],
	[{line: `awk '/{note}/'`}],
	[{line: `sed "s/x/{note}/" file`}],
	[{line: `ssh -p 22 host rm {note}`}],
	[{line: `eval "echo {note}"`}],
	[{line: `if true; then command eval echo {note}; fi`}],
	[{line: `e"va"l echo {note}`}],
	[{line: `trap "rm {note}" EXIT`}],
	[{line: `export {note}`}],
	[{line: `let x={note}`}],
	[{line: `a[{note}]=1`}],
	[{line: `[[ {note} -eq 1 ]]`}],
	[{line: `test -v {note}`}],
	[{line: 'echo `echo {note}`'}],
	[{line: 'echo ${{x:-{note}}}'}],
	[{line: 'echo "${{x:-{note}}}"'}],
	[{line: 'echo ${note}'}],
	[{line: 'echo "\\{note}"'}],
	[{line: `cat <<'EOF'\n{note}\nEOF`}],
	[{line: `cat <<\\EOF\n{note}\nEOF`}],
	[{line: `cat <<E"O"F\n{note}\nEOF`}],
	[{line: `cat <<{note}\nx\n`}],
	[{line: `sh <<EOF\necho {note}\nEOF`}],
	[{line: `ssh host <<EOF\necho {note}\nEOF`}],
	[{line: `echo {note} | sh`}],
	[{line: `echo {note} | tee x | bash -s`}],
	[{line: `for x in {note}; do echo $x; done | sh`}],
	[{line: `(echo {note}) | sh`}],
	[{line: `echo $'{note}'`}],
	[{argv: ['sh', '-c', 'eval "echo {note}"']}],
	[{argv: ['sh', '-{note}', 'echo']}],
	[{argv: ['env', 'bash', '-lc', '{note}']}],
	[{argv: ['python3', '-c', 'print("{note}")']}],
	[{argv: ['{note}', '-c', '{note}']}],
])('a value where it would be run is refused when the job is read: %j', command => {
	expect(refuse(command)).toContain('{note}');
});

test.each([
	[{line: `grep -c {note} sh`}],
	[{line: `ping -c1 {note}`}],
	[{line: `ssh -p 22 {note} uptime`}],
	[{line: `bash script.sh -c {note}`}],
	[{line: `awk -v x={note} '{{ print x }}' {note}`}],
	[{line: `sed -n 1p {note}`}],
	[{line: `curl https://host.example | sh; echo {note}`}],
	[{line: `mkdir -p {note} && cd {note} || exit 1`}],
	[{line: `echo x > {note} 2>&1`}],
	[{line: `sh -c "echo {note!raw}"`}],
	[{argv: ['sh', '-c', 'echo "$1"', 'sh', '{note}']}],
	[{argv: ['tool', '--name={note}']}],
])('a value that is an argument is taken: %j', command => {
	expect(refuse(command)).toBe('taken');
});

test('a script for a shell among arguments is read as a line', () => {
	const argv = ['bash', '-ec', 'printf "[%s]" "hello {note}" "$1"', 'bash', '{note}'];
	const template = new CommandTemplate(specOf({argv}), job);
	const rendered = template.render({row: {note: '"; touch ran; "'}, itemId: 'i', rowIndex: 0, jobId: 'j'});
	expect(rendered).toEqual({
		argv: ['bash', '-ec', 'printf "[%s]" "hello ${LONGARM_VALUE_1}" "$1"', 'bash', '"; touch ran; "'],
		variables: {LONGARM_VALUE_1: '"; touch ran; "'},
	});
});

test('a value that is calculated with has to be a number', () => {
	const template = new CommandTemplate(specOf({line: 'echo $((2 * {note}))'}), job);
	const values = {itemId: 'i', rowIndex: 0, jobId: 'j'};
	expect(() => template.render({...values, row: {note: 'a[$(touch ran)]'}})).toThrow('no whole number');
	expect(template.render({...values, row: {note: '-12'}}).variables).toEqual({LONGARM_VALUE_1: '-12'});
});
