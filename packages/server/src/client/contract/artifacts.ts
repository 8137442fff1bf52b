/** Artifacts over HTTP: files that jobs leave. They belong to a run, or to a campaign. */
import { Type } from 'typebox'
import { closed, contract } from './contract.ts'

const run = Type.String({ minLength: 1, maxLength: 200 })
const name = Type.String({ minLength: 1, maxLength: 200 })
/** Control characters would end up in lists and headers. */
const newName = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  expected: 'a text of 1 to 200 characters without control characters',
})
const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

const Artifact = Type.Object({
  run: Type.String(),
  name: Type.String(),
  length: Type.Integer(),
  sha256: Type.String(),
  created_at: Type.Integer(),
  by: Type.String(),
})

const upload = {
  epoch: Type.Integer({ minimum: 0 }),
  worker: Type.String({ minLength: 1, maxLength: 100 }),
  name: newName,
  length: Type.Integer({ minimum: 0, description: 'Bytes of the whole artifact.' }),
  sha256,
}

export const putArtifact = contract({
  method: 'PUT',
  path: '/fleet/artifacts/:lease',
  summary:
    'Uploads an artifact of a lease: raw bytes, from byte `start` on; the whole has this length and checksum',
  access: 'worker',
  body: 'raw',
  params: Type.Object({ lease: Type.String({ minLength: 3, maxLength: 200 }) }),
  query: Type.Object({ ...upload, start: Type.Optional(Type.Integer({ minimum: 0 })) }, closed),
  responses: { 201: Artifact },
})

export const receivedArtifact = contract({
  method: 'GET',
  path: '/fleet/artifacts/:lease',
  summary:
    'How many bytes of an interrupted upload are there: where to start again; and the owner of the artifact',
  access: 'worker',
  body: 'none',
  params: Type.Object({ lease: Type.String({ minLength: 3, maxLength: 200 }) }),
  query: Type.Object(upload, closed),
  responses: {
    200: Type.Object({ received: Type.Integer(), run: Type.String(), by: Type.String() }),
  },
})

const ofNode = Type.Object(
  {
    by: Type.Optional(
      Type.String({ maxLength: 4_096, description: 'Only those of this node of the run.' }),
    ),
  },
  closed,
)

export const listArtifacts = contract({
  method: 'GET',
  path: '/artifacts/:run',
  summary: 'The artifacts of a run or campaign, in the order in which they were written',
  access: 'viewer',
  body: 'none',
  params: Type.Object({ run }),
  query: ofNode,
  responses: { 200: Type.Object({ artifacts: Type.Array(Artifact) }) },
})

export const listRunArtifacts = contract({
  method: 'GET',
  path: '/runs/:id/artifacts',
  summary: 'The artifacts of a run, in the order in which they were written',
  access: 'viewer',
  body: 'none',
  params: Type.Object({ id: run }),
  query: ofNode,
  responses: { 200: Type.Object({ artifacts: Type.Array(Artifact) }) },
})

export const getArtifact = contract({
  method: 'GET',
  path: '/artifacts/:run/:name',
  summary: 'The bytes of an artifact, also in ranges',
  access: 'viewer',
  body: 'none',
  params: Type.Object({ run, name }),
  responses: { 200: 'bytes' },
})

export const archiveArtifacts = contract({
  method: 'GET',
  path: '/archives/:run',
  summary: 'All artifacts of a run or campaign as one tar archive',
  access: 'viewer',
  body: 'none',
  params: Type.Object({ run }),
  responses: { 200: 'bytes' },
})

export const artifactContracts = [
  putArtifact,
  receivedArtifact,
  listArtifacts,
  listRunArtifacts,
  getArtifact,
  archiveArtifacts,
] as const
