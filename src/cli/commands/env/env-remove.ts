import {homeOf} from '../../../environments/config/default-provider.js';
import {FileProvider} from '../../../environments/config/file-provider.js';
import {EXIT} from '../../exit-codes.js';

/** Takes an environment out of environments.toml. */
export async function removeNamed(name: string): Promise<number> {
	const file = new FileProvider(homeOf(process.env));
	const {wasDefault} = await file.remove(name);
	process.stdout.write(`${name} removed from ${file.path}\n`);
	if (wasDefault) process.stderr.write(`note: ${name} was the default; there is none of your own now\n`);
	return EXIT.ok;
}
