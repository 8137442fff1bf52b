import { openArtifacts } from '../../../src/artifacts/open-artifacts.ts'
import type { ArtifactStore } from '../../../src/artifacts/artifact-store.ts'
import { artifactStoreConformance } from '../../../src/testing/artifact-store-conformance.ts'

artifactStoreConformance('memory', async () => {
  let opened: ArtifactStore | undefined
  return {
    // In memory there is one process.
    open: async (quota = {}) => (opened ??= await openArtifacts('memory', { quota })),
    async [Symbol.asyncDispose]() {},
  }
})
