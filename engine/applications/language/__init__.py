"""Attribution for language models: fine-tuning, cached gradients, methods and their evaluation.

    attribution → gradients, cache, projection → methods → rankings → detection, quality
"""
