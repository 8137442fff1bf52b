// oxlint-disable-next-line import/no-unassigned-import -- it throws on a Node that is too old
import './kernel/node-version.ts'
export { VirtualClock } from './kernel/virtual-clock.ts'

// watch/: fails a test that blocks the event loop.
export { expectLoopFree, measureLoopGap, type LoopFreeOptions } from './watch/loop-free.ts'

// cache/: the checks that every tier passes.
export { cacheTierCases, type TierCase, type TierFactory } from './testing/cache-tier-cases.ts'

// artifacts/: what every store of artifacts must pass.
export {
  artifactStoreConformance,
  type ArtifactStoreUnderTest,
} from './testing/artifact-store-conformance.ts'

// journal/: what every implementation of a journal must pass.
export { journalConformance, type ConformanceStore } from './testing/journal-conformance.ts'

// store/: the conformance tests of a role on every database.
export { roleConformance, type RoleCase, type StoreBackend } from './testing/role-conformance.ts'
export type { StoreUnderTest } from './testing/store-conformance.ts'

// run/: recorded runs as tests.
export {
  replayRun,
  type RecordedAttempt,
  type RecordedNode,
  type RecordedRun,
  type Replay,
  type ReplayOptions,
} from './run/replay.ts'

// testing/: what every part with a life must pass.
export { serviceConformance, type ServiceDriver } from './testing/service-conformance.ts'

// testing/: a job behaves the same everywhere.
export { attemptsConformance } from './testing/attempts-conformance.ts'
export {
  attemptRow,
  type AttemptsDriver,
  type JobEnd,
  type OpenAttempts,
  type OpenAttemptsDriver,
  type StartedJob,
} from './testing/attempts-driver.ts'

// testing/: runs with chosen times.
export {
  continueStory,
  placedNode,
  sampleStory,
  storyJournal,
  storyNode,
  storyStart,
  writeStory,
  type Story,
  type StoryRow,
} from './testing/story.ts'
