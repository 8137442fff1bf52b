/** Whole runs on journals that misbehave. */
import { damagedPage } from './damaged-page.ts'
import { fullDisk } from './full-disk.ts'
import { readOnlyMedium } from './read-only.ts'
import { twoProcesses } from './two-processes.ts'

export interface Scenario {
  readonly name: string
  /** Fails when something is wrong. Returns the reason when it cannot be played here. */
  readonly play: (folder: string) => Promise<string | undefined>
}

export const scenarios: readonly Scenario[] = [
  { name: 'a full disk ends the run; with space again it resumes', play: fullDisk },
  {
    name: 'a journal that cannot be written refuses the run before it starts',
    play: readOnlyMedium,
  },
  { name: 'of a damaged journal the saved part is resumed', play: damagedPage },
  {
    name: 'a second writer of a run is refused by name, a run beside it is not; a kill frees it',
    play: twoProcesses,
  },
]
