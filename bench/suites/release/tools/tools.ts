import { changesets } from './changesets.ts'
import { heddle } from './heddle.ts'
import { lerna } from './lerna.ts'
import { nx } from './nx.ts'
import { pnpm } from './pnpm.ts'
import { releaseIt } from './release-it.ts'
import type { Tool } from './tool.ts'

/** Keyed by the name of the entrant. */
export const tools: Readonly<Record<string, Tool>> = {
  heddle,
  lerna,
  changesets,
  pnpm,
  nx,
  'release-it': releaseIt,
}
