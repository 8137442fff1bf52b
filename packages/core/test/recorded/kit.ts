/** Short names for stories, and a folder that is gone afterwards. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

export {
  continueStory as goOn,
  sampleStory as build,
  storyJournal as told,
  storyNode as node,
  storyStart as zero,
  writeStory as tell,
  type Story,
  type StoryRow as Row,
} from '../../src/testing/story.ts'

export async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-recorded-'))
  try {
    await body(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
