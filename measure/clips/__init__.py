"""Video clips and faces: foreground masks, backgrounds and shadows beside ground truth."""
