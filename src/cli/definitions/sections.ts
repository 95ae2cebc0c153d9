import type {Example} from './definition.js';

/** Commands and groups by what they are about, in the order in which help shows them. */
export const SECTIONS: readonly {readonly title: string; readonly names: readonly string[]}[] = [
	{title: 'Work', names: ['run', 'shell', 'forward']},
	{title: 'Files', names: ['ls', 'cat', 'cp', 'put', 'get']},
	{title: 'Environments', names: ['env']},
	{title: 'Server', names: ['serve', 'doctor']},
	{title: 'More', names: ['completion', 'help']},
];

/** How many examples the help of the program shows. */
const SHOWN_EXAMPLES = 3;

const FIRST_EXAMPLES: readonly Example[] = [
	{command: 'longarm serve', says: 'serve this machine'},
	{command: 'longarm run -e ws://127.0.0.1:4500 -- make test', says: 'run a command over there'},
	{command: 'longarm cp report.pdf devbox:/srv/', says: 'copy a file to another machine'},
	{command: 'longarm env add devbox ws://127.0.0.1:4500', says: 'give a machine a name'},
	{command: 'longarm forward -e devbox 8080:3000', says: 'reach a port of it'},
];

/** The first examples of those commands there are. */
export function firstExamples(commands: readonly {readonly name: string}[]): readonly Example[] {
	const isThere = ({command}: Example): boolean =>
		commands.some(({name}) => command.startsWith(`longarm ${name} `) || command === `longarm ${name}`);
	return FIRST_EXAMPLES.filter(isThere).slice(0, SHOWN_EXAMPLES);
}
