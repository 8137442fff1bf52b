/** Dragging a picture with the pointer. */
import { browserClock } from '../kernel/clock.ts'

/** Pixels that the pointer must move before it is a drag: a hand is not steady when it clicks. */
const threshold = 4

/**
 * Follows the pointer from `pointerdown` on, and reports by how many pixels the picture is to move. The click that ends a
 * drag does not arrive.
 */
export function drag(event: PointerEvent, move: (x: number, y: number) => void): void {
  if (event.button !== 0) return
  const target = event.currentTarget as HTMLElement
  let { clientX, clientY } = event
  let isDrag = false
  const onMove = (moved: PointerEvent): void => {
    if (!isDrag) {
      isDrag = Math.hypot(moved.clientX - clientX, moved.clientY - clientY) > threshold
      if (!isDrag) return
      if (!target.hasPointerCapture(event.pointerId)) target.setPointerCapture(event.pointerId)
    }
    move(clientX - moved.clientX, clientY - moved.clientY)
    clientX = moved.clientX
    clientY = moved.clientY
  }
  const end = (): void => {
    target.removeEventListener('pointermove', onMove)
    target.removeEventListener('pointerup', end)
    target.removeEventListener('pointercancel', end)
    if (!isDrag) return
    const swallow = (click: Event): void => click.stopImmediatePropagation()
    target.addEventListener('click', swallow, { capture: true, once: true })
    // It comes in the same task as `pointerup`, or not at all.
    browserClock.setTimer(0, () => target.removeEventListener('click', swallow, { capture: true }))
  }
  target.addEventListener('pointermove', onMove)
  target.addEventListener('pointerup', end)
  target.addEventListener('pointercancel', end)
}
