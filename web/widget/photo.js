// The bytes of a photo that a page shows.

import { makeError } from "./fault.js";

// Longest side in pixels: enough for every model, since photos are resized before they are read.
const MAX_SIDE = 2048;

/**
 * The file of the photo if this page may fetch it, which is certain only for files from Espalier's
 * own origin; otherwise the image as the browser shows it. Other files are not fetched, because the
 * browser would report a forbidden fetch to the owner of the page.
 */
export async function photoOf(url, home) {
  const isFetchable = url.origin === home.origin || ["data:", "blob:"].includes(url.protocol);
  if (isFetchable) {
    try {
      const response = await fetch(url);
      if (response.ok) return await response.blob();
    } catch {
      // A policy may list folders instead of origins, and may allow images but no fetch.
    }
  }
  return toPng(await loadImage(url));
}

async function loadImage(url) {
  const image = new Image();
  if (url.origin !== location.origin && url.protocol.startsWith("http")) image.crossOrigin = "anonymous";
  image.src = url;
  try {
    await image.decode();
    return image;
  } catch (error) {
    throw makeError(
      "photo",
      `The photo “${url.pathname.split("/").pop()}” could not be read.`,
      "Whoever runs this page has to put it on the same site, or let other sites read it (Access-Control-Allow-Origin).",
      error,
    );
  }
}

/** An image as PNG, upright as the browser shows it. */
async function toPng(image) {
  const scale = Math.min(1, MAX_SIDE / Math.max(image.naturalWidth, image.naturalHeight));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(image.naturalWidth * scale));
  canvas.height = Math.max(1, Math.round(image.naturalHeight * scale));
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
