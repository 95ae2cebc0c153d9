import {environmentsFile, removeEnvironment} from '../../../environments/config/edit/edit-file.js';
import {homeOf} from '../../../environments/config/load-environments.js';

/** Takes an environment out of environments.toml. */
export async function removeNamed(name: string): Promise<number> {
	const home = homeOf(process.env);
	const {wasDefault} = await removeEnvironment(home, name);
	process.stdout.write(`${name} removed from ${environmentsFile(home)}\n`);
	if (wasDefault) process.stderr.write(`note: ${name} was the default; there is none of your own now\n`);
	return 0;
}
