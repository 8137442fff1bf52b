/**
 * The room of artifacts: workers upload what their jobs leave, people download it.
 *
 *  D1  An upload belongs to a lease that is held: its worker, its epoch. It is raw bytes with the length and the checksum of the
 *      whole; what arrived of one that was cut is kept, and the worker continues after it.
 *  D2  Bytes go from the socket to the store and back at the pace of the slower side; none are collected.
 *      Any server takes it (C6): one that does not answer for the lease asks the owner whose artifact it is, and writes the bytes
 *      itself, because servers on one database share what keeps artifacts. No byte is sent on.
 *  D3  The artifacts of a campaign are for its tenant; another one gets the answer of an unknown campaign.
 */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HeddleError, type ArtifactInfo } from '@heddle/core'
import type { ArtifactStore, Tables } from '@heddle/core/lowlevel'
import { readCampaign } from '../campaigns/records.ts'
import * as contracts from '../client/contract/artifacts.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { ForwardAnswer } from '../cluster/forward.ts'
import { workOf } from '../fleet/elsewhere.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Caller } from '../http/caller.ts'
import type { Room } from '../http/room.ts'
import { route, type Call } from '../http/route.ts'
import { etagMatches, rangeOf, refuseRange } from '../http/send-bytes.ts'
import { streamOf } from './stream-of.ts'
import { tarOf } from './tar.ts'

export interface ArtifactsRoomOptions {
  /** Undefined: nothing keeps artifacts here. */
  readonly store: ArtifactStore | undefined
  readonly fleet: Fleet
  readonly tables: Tables
  /** The other servers on the same database; undefined when there are none. */
  readonly cluster: Pick<Cluster, 'forwarding'> | undefined
}

type Upload = Call<typeof contracts.putArtifact>

export function openArtifactsRoom(options: ArtifactsRoomOptions): Room {
  const { store, fleet, tables, cluster } = options
  const kept = (what: string): ArtifactStore => {
    if (store !== undefined) return store
    throw new HeddleError('HDL_NO_ARTIFACTS', { node: 'This server', artifact: what })
  }
  /** D3. */
  const checkTenant = async (run: string, caller: Caller): Promise<void> => {
    if (!run.startsWith('c-') || caller.roles.includes('admin')) return
    const campaign = await readCampaign(tables, run)
    if (campaign?.tenant === caller.tenant) return
    throw new HeddleError('HDL_UNKNOWN_CAMPAIGN', { campaign: run })
  }
  /** D1: whose artifact an upload is; the answer of the owner of its lease when that refuses it. */
  const targetOf = async (call: Upload): Promise<UploadTarget | ForwardAnswer> => {
    const { params, query, caller } = call
    const answer = await cluster?.forwarding.askOwner(
      workOf(params.lease),
      call,
      questionOf(call.request.url),
    )
    if (answer === undefined) {
      return fleet.artifactsOf({ ...params, ...query, owner: caller.id })
    }
    return answer.status === 200 ? (JSON.parse(answer.body.toString()) as UploadTarget) : answer
  }
  const list = async (run: string, caller: Caller, node: string | undefined) => {
    await checkTenant(run, caller)
    const found = (await store?.list(run)) ?? []
    return { artifacts: found.filter(({ by }) => (node ?? by) === by).map(viewOf) }
  }
  return {
    name: 'artifacts',
    routes: [
      route(contracts.putArtifact, async (call) => {
        const { query, request, signal, reply } = call
        const { name, length, sha256, start = 0 } = query
        const target = await targetOf(call)
        if ('status' in target) {
          return reply.code(target.status).headers(target.headers).send(target.body)
        }
        const { run, by } = target
        const artifacts = kept(name)
        const found = await artifacts.find(run, name)
        // The answer to an upload that had ended was lost.
        const isThere = found?.sha256 === sha256 && found.length === length
        const content = request.raw
        if (isThere) content.resume()
        const info = isThere
          ? found
          : await artifacts.put(run, name, content, {
              by,
              length,
              sha256,
              resumable: true,
              start,
              signal,
            })
        reply.code(201)
        return viewOf(info)
      }),
      route(
        contracts.receivedArtifact,
        async ({ params, query, caller }) => {
          const { name, length, sha256, epoch, worker } = query
          const target = fleet.artifactsOf({ lease: params.lease, epoch, worker, owner: caller.id })
          const { run } = target
          const artifacts = kept(name)
          const found = await artifacts.find(run, name)
          const isThere = found?.sha256 === sha256 && found.length === length
          const received = isThere
            ? length
            : await artifacts.received(run, name, { length, sha256 })
          return { ...target, received }
        },
        { ownedBy },
      ),
      route(contracts.listArtifacts, ({ params, query, caller }) =>
        list(params.run, caller, query.by),
      ),
      route(contracts.listRunArtifacts, ({ params, query, caller }) =>
        list(params.id, caller, query.by),
      ),
      route(contracts.getArtifact, async ({ params, caller, request, reply }) => {
        const { run, name } = params
        await checkTenant(run, caller)
        const info = await kept(name).find(run, name)
        if (info === undefined) {
          throw new HeddleError('HDL_UNKNOWN_ARTIFACT', { run, artifact: name })
        }
        return send(kept(name), info, request, reply)
      }),
      route(contracts.archiveArtifacts, async ({ params, caller, reply }) => {
        await checkTenant(params.run, caller)
        const artifacts = kept('the archive')
        const found = await artifacts.list(params.run)
        void reply
          .type('application/x-tar')
          .header(
            'content-disposition',
            `attachment; filename="${params.run.replaceAll(/[^\w.-]/g, '_')}.tar"`,
          )
        return reply.send(Readable.from(tarOf(artifacts, found), { objectMode: false }))
      }),
    ],
    start: async () => undefined,
    drain: async () => ({ isClean: true }),
    stop: async () => undefined,
    stats: () => ({}),
    metrics: () => [],
  }
}

/** The run or campaign that an upload belongs to, and the piece of work. */
type UploadTarget = ReturnType<Fleet['artifactsOf']>

/** The server that answers for the lease. */
const ownedBy = ({ params }: { readonly params: { readonly lease: string } }): string =>
  workOf(params.lease)

/** The path and query of contracts.receivedArtifact for an upload. */
function questionOf(url: string): string {
  const question = new URL(url, 'http://server')
  question.searchParams.delete('start')
  return question.pathname + question.search
}

function viewOf({ run, name, length, sha256, createdAt, by }: ArtifactInfo) {
  return { run, name, length, sha256, created_at: createdAt, by }
}

/** D2. */
async function send(
  store: ArtifactStore,
  { run, name, length, sha256 }: ArtifactInfo,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const etag = `"${sha256}"`
  void reply
    .headers({ etag, 'accept-ranges': 'bytes', 'cache-control': 'private, no-cache' })
    // It is what a job wrote: no browser may take it for a page of this server.
    .header('content-disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name)}`)
  if (etagMatches(request.headers['if-none-match'], etag)) return reply.code(304).send()
  const range = rangeOf(request, etag, length)
  if (range === 'unsatisfiable') return refuseRange(reply, length)
  const { from: start, to: end } = range ?? { from: 0, to: length }
  if (range !== undefined) {
    void reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${length}`)
  }
  void reply.type('application/octet-stream').header('content-length', end - start)
  // A stream: the length of a text would be sent instead of that of the artifact.
  if (request.method === 'HEAD') return reply.send(Readable.from([]))
  const open = await store.open(run, name, { start, end })
  return reply.send(streamOf(open))
}
