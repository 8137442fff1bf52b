/**
 * Bodies of requests that were answered before they came.
 *
 *   answered ─▶ nothing more is read ── the client closes, or a second passes ─▶ the connection is destroyed
 *
 * Node would read the whole body to throw it away, or, with `Connection: close`, close the connection with bytes
 * unread: the system then resets it, and the client may lose the answer. So the answer is sent, then the end of our
 * side, and further bytes of the client stay in the buffers of the system, which do not grow.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '@heddle/core/lowlevel'
import { endConnection } from './arrivals.ts'

/** To be called before the answer, which must say `Connection: close`. */
export function stopReading({ socket }: IncomingMessage, clock: Clock): void {
  // Called by Node when the last answer of a connection was handed to the system.
  socket.destroySoon = () => {
    socket.end()
    socket.pause()
    // The parser reads below the stream.
    ;(socket as Socket & { _handle?: { readStop(): void } | null })._handle?.readStop()
    endConnection(socket, clock)
  }
}
