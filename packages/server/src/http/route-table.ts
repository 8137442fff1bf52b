/**
 * The route table: from the contracts of all rooms to Fastify's routes.
 *
 *   head ─▶ known route? ─▶ caller ─▶ allowed? ─▶ words of the address ─▶ door ─▶ body ─▶ its schema ─▶ handler
 *            404, 405        401       403         400                    503     408, 413  400
 *
 * R1. Nothing of a body is read before the caller, its right and the words of the address are known to be good.
 * R2. A route reads the kind of body that its contract names, and no other (415).
 * R3. A path of the table that is called with another method is answered 405 with `Allow`.
 */
import { parse as parseForm } from 'node:querystring'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HeddleError } from '@heddle/core'
import type { BodyKind, Contract } from '../client/contract/contract.ts'
import type { AccessPolicy, Caller } from './caller.ts'
import type { HttpSettings } from './context.ts'
import { textOf } from './read-request.ts'
import type { Room } from './room.ts'
import { OpenCall, type Route } from './route.ts'
import { readerOfBody, readerOfWords } from './validate.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Known from the moment on in which the caller is. */
    heddleCall: OpenCall | undefined
  }
  interface FastifyContextConfig {
    contract?: Contract
  }
}

export interface TableSettings extends HttpSettings {
  readonly policy: AccessPolicy
}

/** Bytes, by the kind of body: JSON is parsed on the loop. */
const bodyLimits: Readonly<Record<BodyKind, number>> = {
  json: 256 * 1_024,
  form: 64 * 1_024,
  raw: Number.MAX_SAFE_INTEGER,
  none: 64 * 1_024,
}

/** R3, and paths that no room has. */
export function refuseUnknownRoutes(app: FastifyInstance, rooms: readonly Room[]): void {
  const paths = new Map<string, Set<string>>()
  for (const { contract } of rooms.flatMap(({ routes }) => routes)) {
    const { path, method } = contract
    const methods = paths.get(path) ?? new Set()
    paths.set(path, methods.add(method))
    if (method === 'GET') methods.add('HEAD')
  }
  const known = Array.from(paths, ([path, methods]) => ({
    pattern: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`),
    allowed: [...methods],
  }))
  app.addHook('onRequest', (request, _, done) => {
    if (!request.is404) return done()
    const { method, url } = request
    // Without the query, which may hold what is not for the log.
    const path = url.split('?')[0]!
    const allowed = known.find(({ pattern }) => pattern.test(path))?.allowed
    done(
      allowed === undefined
        ? new HeddleError('HDL_NO_ROUTE', { method, path })
        : new HeddleError('HDL_METHOD_NOT_ALLOWED', { method, path, allowed }),
    )
  })
}

/** A room as a plugin, with one scope for each kind of body (R2). */
export function addRoom(app: FastifyInstance, room: Room, settings: TableSettings): void {
  if (!app.hasRequestDecorator('heddleCall')) app.decorateRequest('heddleCall', undefined)
  void app.register(async (scope) => {
    for (const [kind, parser] of Object.entries(parsers) as [BodyKind, AddParser][]) {
      const routes = room.routes.filter(({ contract }) => contract.body === kind)
      if (routes.length === 0) continue
      await scope.register(async (inner) => {
        parser(inner)
        for (const route of routes) addRoute(inner, route, settings)
      })
    }
  })
}

type AddParser = (scope: FastifyInstance) => void

/** As bytes: Node's decoder replaces what is not UTF-8, and a job would compute with another input. */
const addTextParser = (type: string | RegExp) => (scope: FastifyInstance) => {
  scope.addContentTypeParser(type, { parseAs: 'buffer' }, async (_: FastifyRequest, body: Buffer) =>
    textOf(body),
  )
}

const parsers: Readonly<Record<BodyKind, AddParser>> = {
  json: addTextParser('application/json'),
  none: addTextParser('application/json'),
  form: addTextParser('application/x-www-form-urlencoded'),
  // The handler reads the stream.
  raw: (scope) => scope.addContentTypeParser('*', (_request, _payload, done) => done(null)),
}

function addRoute(scope: FastifyInstance, route: Route, settings: TableSettings): void {
  const { contract, door, handle, ownedBy, isStream } = route
  const { policy, forwarding } = settings
  const readParams = readerOfWords(contract.params, 'The address')
  const readQuery = readerOfWords(contract.query, 'The query')
  const readBody = bodyReader(route)
  const status = usualStatus(contract)
  const enter = (request: FastifyRequest, reply: FastifyReply, caller: Caller): void => {
    policy.check(caller, contract, request)
    const call = new OpenCall(request, reply, caller, settings)
    request.heddleCall = call
    call.params = readParams(request.params)
    call.query = readQuery(request.query)
    door?.(call)
  }
  /** A policy that asks the store. *Cancellation*: none: it has a deadline of its own. */
  const enterLater = async (
    asked: Promise<Caller>,
    request: FastifyRequest,
    reply: FastifyReply,
    done: (error?: Error) => void,
  ): Promise<void> => {
    let problem: Error | undefined
    try {
      enter(request, reply, await asked)
    } catch (error) {
      problem = error as Error
    }
    done(problem)
  }
  scope.route({
    method: contract.method,
    url: contract.path,
    bodyLimit: route.bodyLimit ?? bodyLimits[contract.body],
    config: { contract },
    onRequest: (request, reply, done) => {
      try {
        const caller = policy.callerOf(request, contract)
        if (caller instanceof Promise) return void enterLater(caller, request, reply, done)
        enter(request, reply, caller)
        done()
      } catch (error) {
        done(error as Error)
      }
    },
    handler: (request, reply) => {
      const call = request.heddleCall!
      const text = request.body as string | undefined
      forwarding?.checkBody(request, text)
      call.body = readBody(text) as undefined
      const owner = ownedBy?.(call)
      const elsewhere =
        owner === undefined ? undefined : forwarding?.forward(owner, call, text, isStream)
      const answer = (): unknown => {
        if (status !== 200) void reply.code(status)
        return handle(call)
      }
      return elsewhere === undefined
        ? answer()
        : elsewhere.then((isAnswered) => (isAnswered ? reply : answer()))
    },
  })
}

/** The first status that is not an error, where a handler sets none. */
function usualStatus({ responses }: Contract): number {
  const statuses = Object.keys(responses).map(Number)
  return statuses.includes(200) ? 200 : (statuses.find((status) => status < 300) ?? 200)
}

function bodyReader({ contract, isUnparsed }: Route): (text: unknown) => unknown {
  const check = readerOfBody(contract.bodySchema)
  switch (contract.body) {
    case 'json':
      if (isUnparsed) return (text) => text
      return (text) => check(parseJson(text as string | undefined))
    case 'form':
      return (text) => check({ ...parseForm((text as string | undefined) ?? '') })
    case 'raw':
    case 'none':
      return () => undefined
  }
}

/** @throws `HDL_BAD_INPUT`. */
function parseJson(text: string | undefined): unknown {
  if (text === undefined || text === '') return {}
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new HeddleError('HDL_BAD_INPUT', { what: 'The body', problem: 'expected a JSON object.' })
  }
}
