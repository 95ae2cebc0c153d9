import {translated} from '../index.js';
import * as attributing from './attributes.js';
import * as listing from './list-tree.js';
import * as packing from './pack-tree.js';
import * as unpacking from './unpack-tree.js';

export type {PackedTree} from './pack-tree.js';
export {isTransfer, type TransferOutcome} from './transfer-outcome.js';
export type {UnpackedTree, UnpackOptions} from './unpack-tree.js';

export const listTree = translated(listing.listTree);
export const setAttributes = translated(attributing.setAttributes);
export const packTree = translated(packing.packTree);
export const unpackTree = translated(unpacking.unpackTree);
