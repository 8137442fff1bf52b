import path from 'node:path'
import { peersFolder } from '../../../servers/install-peers.ts'

const modules = path.join(peersFolder('release'), 'node_modules')

/** Where the programs of the peers are: first in the path of every tool, as one peer calls another. */
export const peerPrograms = path.join(modules, '.bin')

/** Where a package of the peers is. */
export function peerModule(name: string): string {
  return path.join(modules, name)
}

export function peerProgram(name: string): string {
  return path.join(peerPrograms, name)
}
