/**
 * Which part of a drawing is seen, and how large.
 *
 * Invariants, quoted by the tests:
 *  V1  Zooming keeps the point under the pointer where it is.
 *  V2  A drawing that is fitted is seen as a whole, and never smaller than `smallest` nor larger than 1.
 *  V3  centre() puts a point into the middle and keeps the zoom.
 */
export interface Camera {
  /** The point of the drawing at the left top corner of the view. */
  readonly x: number
  readonly y: number
  /** Pixels of the view for one unit of the drawing. */
  readonly zoom: number
}

export const smallest = 0.02
const largest = 2.5
const margin = 48

export interface Extent {
  readonly width: number
  readonly height: number
}

/** `floor`: below this zoom the drawing is not made smaller, and its start is shown instead. */
export function fit(drawing: Extent, view: Extent, floor: number = smallest): Camera {
  const wanted = Math.min(
    (view.width - 2 * margin) / Math.max(1, drawing.width),
    (view.height - 2 * margin) / Math.max(1, drawing.height),
  )
  const zoom = Math.min(1, Math.max(floor, wanted))
  const seenWidth = view.width / zoom
  const seenHeight = view.height / zoom
  const x = seenWidth >= drawing.width ? (drawing.width - seenWidth) / 2 : -margin / zoom
  return { zoom, x, y: (drawing.height - seenHeight) / 2 }
}

export function zoomAt(camera: Camera, factor: number, px: number, py: number): Camera {
  const zoom = Math.min(largest, Math.max(smallest, camera.zoom * factor))
  return {
    zoom,
    x: camera.x + px / camera.zoom - px / zoom,
    y: camera.y + py / camera.zoom - py / zoom,
  }
}

export function panBy(camera: Camera, px: number, py: number): Camera {
  return { ...camera, x: camera.x + px / camera.zoom, y: camera.y + py / camera.zoom }
}

export function centre(camera: Camera, view: Extent, x: number, y: number): Camera {
  return { ...camera, x: x - view.width / 2 / camera.zoom, y: y - view.height / 2 / camera.zoom }
}

/** Whether a point is seen, with some room around. */
export function sees(camera: Camera, view: Extent, x: number, y: number): boolean {
  const px = (x - camera.x) * camera.zoom
  const py = (y - camera.y) * camera.zoom
  return px > margin && py > margin && px < view.width - margin && py < view.height - margin
}
