import type {Example} from './definition.js';

/** Commands and groups by what they are about, in the order in which help shows them. */
export const SECTIONS: readonly {readonly title: string; readonly names: readonly string[]}[] = [
	{title: 'Work', names: ['run', 'shell', 'forward']},
	{title: 'Files', names: ['ls', 'cat', 'cp', 'put', 'get']},
	{title: 'Environments', names: ['env']},
	{title: 'Server', names: ['serve', 'doctor']},
	{title: 'More', names: ['completion', 'help']},
];

/** What help shows first. */
export const FIRST_EXAMPLES: readonly Example[] = [
	{command: 'longarm serve --listen ws://127.0.0.1:4500', says: 'serve this machine'},
	{command: 'longarm run -e ws://127.0.0.1:4500 -- make test', says: 'run a command over there'},
	{command: 'longarm cp report.pdf ws://127.0.0.1:4500:/srv/', says: 'copy a file over there'},
];
