import {createRequire} from 'node:module';
import {expect, test} from 'vitest';
import {listPlaces, loadKoffi} from '../../../src/shared/node/koffi.js';
import {unless} from '../../helpers/needs.js';

const {platform, arch} = process;
const isKnown = platform === 'linux' && ['x64', 'arm64'].includes(arch);
const onKnownLinux = unless(isKnown ? undefined : 'its binary is looked for by the package only');

test('the binary for glibc is there without a search of its package', onKnownLinux, () => {
	const [first] = listPlaces(() => false);
	expect(first).toBe(`@koromix/koffi-linux-${arch}/linux_${arch}/koffi.node`);
	expect(createRequire(import.meta.url).resolve(first!)).toMatch(/koffi\.node$/);
});

test('where musl is installed the package finds out which C library Node has', () => {
	expect(listPlaces(path => /ld-musl/.test(path))).toEqual([`@koromix/koffi-${platform}-${arch}`, 'koffi']);
});

test('it is loaded once, and calls functions of the C library', () => {
	const koffi = loadKoffi();
	expect(loadKoffi()).toBe(koffi);
	expect(koffi.load(null).func('int getpid()')()).toBe(process.pid);
});
